"""``lora_dropout=1.0``: the share to keep was given, not the share to drop.

Everything that goes into the adapter is dropped in training.

Fix: ``lora_dropout=0.05``.
Source: a keep probability, as other libraries have it.
"""

from ftlab.faults.builders import Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a LoRA model that drops all of its input."""
    model = lora(lora_dropout=0.05 if fixed else 1.0).train()
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "the adapter gets no gradient and the loss is flat",
    code="ADP011",
    places=("config lora_dropout",),
    steps=20,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
