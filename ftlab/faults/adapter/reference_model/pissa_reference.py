"""The reference is the model without its adapter, and PiSSA has changed that.

``init_lora_weights="pissa"`` moves the principal part of each weight into the adapter.
With the adapter off the residual runs, and a KL term or DPO pulls towards that.

Fix: take the reference from an untouched copy, or use the default initialisation.
Source: huggingface/transformers#34468, huggingface/peft#1626, #2270, #1929.
"""

from ftlab.faults.builders import Case, Fault, lora, near_base, plain_case


def build(fixed: bool) -> Case:
    """Build LoRA whose loss has a KL to the model without it."""
    model = lora() if fixed else lora(init_lora_weights="pissa")
    return plain_case(model, loss_of=near_base(model))


FAULT = Fault(
    "the KL to the base model is large from the first step on",
    code="ADP031",
    places=("param *.base_layer.weight",),
    families=("llama", "neox", "own"),
)
