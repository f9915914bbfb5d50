"""``lora_alpha`` is 0, so the factor alpha / r is 0.

B A is multiplied by 0, and so are the gradients of both factors.

Fix: ``lora_alpha`` of r to 2 r.
Source: a sweep over alpha that begins at 0.
"""

from ftlab.faults.builders import Case, Fault, current, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a LoRA model with an alpha of 0."""
    model = lora(lora_alpha=2 * current().rank if fixed else 0)
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "the adapter is trainable and active, and adds nothing",
    code="ADP011",
    places=("config lora_alpha",),
    steps=20,
    evident=0,
    families=("llama", "gpt2", "neox", "own"),
)
