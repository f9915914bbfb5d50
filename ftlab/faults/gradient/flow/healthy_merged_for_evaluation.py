"""The adapter is merged for each evaluation, and taken out again before training.

While it is merged the base weights are other ones, and the adapter takes no part.
"""

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, every, loop_with, lora

EVERY = 25


def build() -> Case:
    """Build LoRA with an evaluation every 25 steps."""
    model = lora()
    optimizer = adamw(model, lr=5e-3)
    (unseen,) = batches(1, seed=77)

    @torch.no_grad()
    def evaluate() -> None:
        model.eval()
        model.merge_adapter()
        model(**unseen)
        model.unmerge_adapter()
        model.train()

    return loop_with(model, optimizer, batches(), after=every(EVERY, evaluate))


HEALTHY = Healthy(
    "base weights change for a moment, several times",
    looks_like=("GRD003", "ADP001", "ADP004", "ADP007"),
)
