"""A part was traced in training mode, and every evaluation runs with its dropout on.

``model.eval()`` sets ``training`` to False, and the graph holds "drop" as a constant.
What is saved with `torch.jit.save` drops too.

Fix: evaluate with a graph that was traced in evaluation mode, or use ``torch.compile``.
Source: pytorch/pytorch#29177 (a traced module does the same in both modes).
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, batches, loss_step, token_loss
from ftlab.faults.builders.around import every, loop_with
from ftlab.faults.builders.refined import Refined, traced

EVERY = 3


def build(fixed: bool) -> Case:
    """Build a model of which a part is traced, and that is evaluated now and then."""
    model = Refined()
    dropping = traced(model.refiner, training=True)
    quiet = traced(model.refiner, training=False)
    model.refiner = dropping
    model.train()
    optimizer = adamw(model)
    rows = batches(9)

    def loss_of(batch: Any) -> torch.Tensor:
        return token_loss(model(batch["input_ids"]), batch)

    train = loss_step(loss_of, optimizer)

    def evaluate() -> None:
        model.refiner = quiet if fixed else dropping
        model.eval()
        with torch.no_grad():
            loss_of(rows[-1])
        model.refiner = dropping
        model.train()

    return loop_with(
        model, optimizer, rows[:-1], train=train, after=every(EVERY, evaluate)
    )


FAULT = Fault(
    "two evaluations of one model on the same rows differ",
    code="MOD019",
    places=("module refiner",),
    steps=8,
    evident=3,
    families=("llama", "gpt2", "neox", "own"),
)
