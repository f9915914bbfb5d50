"""Alpha is set in the configuration of an adapter that is there already.

The layers took their scaling from the configuration when they were made. It is the
file that gets the new alpha: the adapter is trained with one strength and served with
another.

Fix: set ``lora_alpha`` before ``get_peft_model``.
Source: huggingface/peft#2295 (a changed configuration has no effect on a model).
"""

from ftlab.faults.builders import Case, Fault, current, lora, plain_case


def build(fixed: bool) -> Case:
    """Ask for four times the strength, before or after the layers are made."""
    alpha = 8 * current().rank
    model = lora(lora_alpha=alpha) if fixed else lora()
    model.peft_config[current().adapter].lora_alpha = alpha
    return plain_case(model)


FAULT = Fault(
    "the adapter is several times stronger after loading than it was in training",
    code="ADP017",
    places=("config lora_alpha",),
    steps=4,
    evident=0,
    families=("llama", "gpt2", "neox", "own"),
)
