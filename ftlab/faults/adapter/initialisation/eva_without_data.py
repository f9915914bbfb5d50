"""``init_lora_weights="eva"`` without the call that computes it.

EVA takes A from the activations of the training data, by a function that is called
after ``get_peft_model``. Without it PEFT begins as LoRA does, and says nothing.

Fix: ``initialize_lora_eva_weights(model, loader)`` before the optimizer is built.
Source: huggingface/peft#2142; LoRA-GA falls back in the same way, #2926.
"""

from ftlab.faults.builders import Case, Fault, batches, current, lora, plain_case


def build(fixed: bool) -> Case:
    """Build LoRA with EVA, and give it data or not."""
    from peft import EvaConfig, initialize_lora_eva_weights

    model = lora(init_lora_weights="eva", eva_config=EvaConfig())
    if fixed:
        name, data = current().adapter, batches()
        initialize_lora_eva_weights(
            model, data, adapter_name=name, show_progress_bar=False
        )
    return plain_case(model, lr=1e-3)


FAULT = Fault(
    "EVA is no better than the default initialisation",
    code="ADP032",
    places=("config init_lora_weights",),
    steps=4,
    evident=0,
    families=("llama", "gpt2", "neox", "own"),
)
