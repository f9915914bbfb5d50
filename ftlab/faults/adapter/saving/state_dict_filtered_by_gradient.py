"""The state dict is filtered by ``requires_grad``, and nothing of it is left.

``state_dict()`` gives detached tensors: none of them requires a gradient. An empty dict
is written, without a word.

Fix: filter ``model.named_parameters()``.
Source: speechbrain/speechbrain#2715.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, batches, every, loop_with, lora
from ftlab.faults.builders.trainers import folder

EVERY = 3


def build(fixed: bool) -> Case:
    """Build a loop that writes a file of its own every few steps."""
    model: Any = lora()
    path = folder(model)
    optimizer = adamw(model, lr=5e-3)

    def save() -> None:
        named = model.named_parameters() if fixed else model.state_dict().items()
        state = {name: each for name, each in named if each.requires_grad}
        torch.save(state, path / "trained.pt")

    return loop_with(model, optimizer, batches(), after=every(EVERY, save))


FAULT = Fault(
    "the checkpoint is there and holds nothing",
    code="ADP055",
    places=("file trained.pt",),
    evident=EVERY - 1,
    families=("llama", "gpt2", "neox", "own"),
)
