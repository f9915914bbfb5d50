"""A checkpoint is put together before training and written again and again.

Its tensors are the weights, so that each file has those of its moment, as it should. At
every tenth step the state is taken anew, written at once, and kept for a look.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, folder, loop_with, lora

EVERY = 10


def build() -> Case:
    """Build a loop that writes one checkpoint many times."""
    model = lora()
    path = folder(model)
    optimizer = adamw(model, lr=5e-3)
    checkpoint: dict[str, Any] = {"model": model.state_dict(), "step": 0}
    looked_at: list[Any] = []

    def after(done: int) -> None:
        checkpoint["step"] = done
        if checkpoint["step"] % EVERY == 0:
            torch.save(checkpoint, path / "last.pt")
            looked_at.append(model.state_dict())
            torch.save(looked_at[-1], path / f"{checkpoint['step']}.pt")

    return loop_with(model, optimizer, batches(), after=after)


HEALTHY = Healthy(
    "a state dict of before training is written after it, and others are kept",
    looks_like=("ADP033", "ADP055"),
    steps=40,
)
