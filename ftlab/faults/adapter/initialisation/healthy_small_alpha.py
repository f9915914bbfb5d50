"""LoRA with alpha = 1 at rank 16, as some recipes have it, at a learning rate to match.

The scaling is 1/16. What counts is the product with the learning rate; Adam does not
mind the scale of the gradients.
"""

from ftlab.faults.builders import Case, Healthy, lora, plain_case


def build() -> Case:
    """Build LoRA with a scaling of 1/16."""
    model = lora(r=16, lora_alpha=1, target_modules="all-linear")
    return plain_case(model, lr=1e-2)


HEALTHY = Healthy(
    "the adapter is scaled down to a sixteenth",
    looks_like=("ADP001", "GRD001"),
)
