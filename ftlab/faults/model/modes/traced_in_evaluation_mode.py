"""A part was traced in evaluation mode, and is trained: its dropout is gone.

`torch.jit.trace` was to make it faster. ``model.train()`` sets ``training`` to True as
ever, and the graph holds "do not drop" as a constant.

Fix: trace in training mode, or use ``torch.compile``, which looks at the mode.
Source: pytorch/pytorch#29177 (a traced module does the same in both modes).
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, plain_case, token_loss
from ftlab.faults.builders.refined import Refined, traced


def build(fixed: bool) -> Case:
    """Build a model of which a part is traced before training."""
    model = Refined()
    model.refiner = traced(model.refiner, training=fixed)
    model.train()

    def loss_of(batch: Any) -> torch.Tensor:
        return token_loss(model(batch["input_ids"]), batch)

    return plain_case(model, loss_of=loss_of)


FAULT = Fault(
    "the model overfits as if its dropout were 0",
    code="MOD019",
    places=("module refiner",),
    steps=4,
    evident=0,
    families=("llama", "gpt2", "neox", "own"),
)
