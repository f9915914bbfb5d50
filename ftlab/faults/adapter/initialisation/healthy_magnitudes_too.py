"""DoRA: LoRA, and the length of each row of the weight as a parameter of its own.

Magnitudes are around 1 where the weights are around 0.02; they move little.
"""

from ftlab.faults.builders import Case, Healthy, lora, plain_case


def build() -> Case:
    """Build DoRA on all linear layers."""
    model = lora(use_dora=True, target_modules="all-linear")
    return plain_case(model, weight_decay=0.01)


HEALTHY = Healthy(
    "a third trained tensor per layer, much larger than the others",
    looks_like=("ADP001", "ADP002", "ADP043", "NUM002"),
)
