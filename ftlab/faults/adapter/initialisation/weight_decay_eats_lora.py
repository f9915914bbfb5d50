"""Weight decay of 1e2 where 1e-2 was meant.

With a learning rate of 1e-3 each step takes a tenth of every adapter weight. A and B
shrink to nothing, and the loss climbs back to the base model's.

Fix: ``weight_decay=0.01``, or 0 for adapters.
Source: a slip of the exponent.
"""

from ftlab.faults.builders import Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a LoRA model with the wrong decay."""
    model = lora()
    return plain_case(model, lr=1e-3, weight_decay=1e-2 if fixed else 1e2)


FAULT = Fault(
    "the adapter's norms fall and its effect fades",
    code="ADP002",
    places=("param *.lora_A.*",),
    steps=50,
    evident=3,
)
