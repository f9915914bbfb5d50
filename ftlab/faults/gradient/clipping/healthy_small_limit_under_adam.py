"""Gradients are clipped to a thousandth of their norm under AdamW, which forgets it.

What is left is still far above the epsilon of 1e-8: updates are as large as ever.
"""

from ftlab.faults.builders import Case, Healthy, lora, plain_case


def build() -> Case:
    """Build LoRA, with a limit of 1e-3 on norms of about 1."""
    model = lora()
    return plain_case(model, loss_of=lambda batch: model(**batch).loss * 4, clip=1e-3)


HEALTHY = Healthy(
    "next to nothing is left of every gradient, and the model learns",
    looks_like=("GRD015", "NUM002"),
    steps=100,
)
