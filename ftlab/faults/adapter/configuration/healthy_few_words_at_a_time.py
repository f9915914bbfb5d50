"""LoRA that learns from one row of three tokens in each step.

Two tokens are predicted, so that each gradient of B A has rank 2 at most; over the
steps more directions come together.
"""

from ftlab.faults.builders import Case, Healthy, batches, lora, plain_case


def build() -> Case:
    """Build LoRA with the smallest batches in which attention has a choice."""
    model = lora()
    rows = batches(count=64, size=1, length=3)
    return plain_case(model, rows=rows)


HEALTHY = Healthy(
    "the adapter's effective rank begins near 1",
    looks_like=("ADP051",),
)
