"""Gradients are clipped to a thousandth of their norm under AdamW, which forgets it.

What is left is still far above the epsilon of 1e-8: updates are as large as ever.
"""

from ftlab.faults.builders import Case, Healthy, adamw, batches, lora, loss_step


def build() -> Case:
    """Build LoRA, with a limit of 1e-3 on norms of about 1."""
    model = lora()
    optimizer = adamw(model)
    step = loss_step(lambda batch: model(**batch).loss * 4, optimizer, clip=1e-3)
    return Case(model, optimizer, batches(), step)


HEALTHY = Healthy(
    "next to nothing is left of every gradient, and the model learns",
    looks_like=("GRD015", "NUM002"),
    steps=100,
)
