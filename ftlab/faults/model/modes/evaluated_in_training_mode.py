"""Two evaluations of the same weights give two losses, and both are too high.

``torch.no_grad()`` stands around the evaluation, and ``model.eval()`` does not: dropout
is on, and the best checkpoint is the luckiest one.

Fix: ``model.eval()`` before each evaluation, ``model.train()`` after it.
Source: seen in hand-written loops; PyTorch's documentation on autograd tells the two
apart.
"""

from typing import Any

import torch

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.faults.fault import Case, Fault

EVALUATED = 3
"""The step before which the model is evaluated."""


def build(fixed: bool) -> Case:
    """Evaluate in the middle of the run, in either mode."""
    model = lora(lora_dropout=0.3).train()
    optimizer = adamw(model)
    made = batches()
    train = plain_step(model, optimizer)
    done = [0]

    def step(batch: Any) -> float:
        if done[0] == EVALUATED:
            model.train(not fixed)
            with torch.no_grad():
                for each in made:
                    model(**each)
            model.train()
        done[0] += 1
        return train(batch)

    return Case(model, optimizer, made, step)


FAULT = Fault(
    "evaluated-in-training-mode",
    "two evaluations of the same weights differ",
    code="MOD010",
    places=("call model.eval",),
    steps=8,
    evident=EVALUATED - 1,
    families=("llama", "gpt2", "neox", "own"),
)
