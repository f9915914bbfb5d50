"""The whole model is made trainable after get_peft_model.

``model.requires_grad_(True)``, from a recipe of full fine-tuning: the base learns next
to the adapter, and is not saved.

Fix: leave ``requires_grad`` alone after get_peft_model.
Source: huggingface/peft#2738.
"""

from ftlab.faults.builders import Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a LoRA model and unfreeze all of it."""
    model = lora()
    if not fixed:
        model.requires_grad_(True)
    return plain_case(model, lr=1e-4)


FAULT = Fault(
    "fine-tuning with LoRA takes the memory of full fine-tuning",
    code="ADP016",
    places=("param *.base_layer.weight",),
    evident=-1,
    also=("ADP020",),
    families=("llama", "gpt2", "neox", "own"),
)
