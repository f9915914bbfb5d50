"""The best state is kept in a variable, without a copy, and written when all is over.

``state_dict()`` gives the weights themselves. The file is called best and holds the
last weights: those that were best are in none.

Fix: ``copy.deepcopy(model.state_dict())``, or write the file at once.
Source: pytorch/tutorials#188, pytorch/pytorch#34765, WenjieDu/PyPOTS#667.
"""

import copy
from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, at, batches, loop_with, lora
from ftlab.faults.builders.trainers import folder

BEST = 3
"""The step that the evaluation likes best."""


def build(fixed: bool) -> Case:
    """Build a loop that keeps a state and writes it at its end."""
    model = lora()
    path = folder(model)
    optimizer = adamw(model, lr=1e-2)
    best: dict[str, Any] = {"step": -1}

    def keep() -> None:
        state = model.state_dict()
        best.update(step=BEST, state=copy.deepcopy(state) if fixed else state)

    def write() -> None:
        torch.save(best, path / "best.pt")

    return loop_with(
        model, optimizer, batches(), after=at(BEST, keep), afterwards=write
    )


FAULT = Fault(
    "the file of the best weights scores like the last ones",
    code="ADP033",
    places=("call state_dict", "file *"),
    steps=8,
    evident=7,
    families=("llama", "gpt2", "neox", "own"),
)
