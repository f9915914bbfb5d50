"""Gradients are clipped to a thousandth of their norm under AdamW, which forgets it.

What is left is still far above the epsilon of 1e-8: updates are as large as ever.
"""

from ftlab.faults.builders.loops import loss_step
from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.faults.fault import Case, Healthy


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
