"""Two evaluations of the same weights give two losses, and both are too high.

``torch.no_grad()`` stands around the evaluation, and ``model.eval()`` does not: dropout
is on, and the best checkpoint is the luckiest one.

Fix: ``model.eval()`` before each evaluation, ``model.train()`` after it.
Source: seen in hand-written loops; PyTorch's documentation on autograd tells the two
apart.
"""

import torch

from ftlab.faults.builders import Case, Fault, adamw, at, batches, loop_with, lora

EVALUATED = 3
"""The step before which the model is evaluated."""


def build(fixed: bool) -> Case:
    """Evaluate in the middle of the run, in either mode."""
    model = lora(lora_dropout=0.3).train()
    optimizer = adamw(model)
    made = batches()

    def evaluate() -> None:
        model.train(not fixed)
        with torch.no_grad():
            for each in made:
                model(**each)
        model.train()

    return loop_with(model, optimizer, made, before=at(EVALUATED, evaluate))


FAULT = Fault(
    "two evaluations of the same weights differ",
    code="MOD010",
    places=("call model.eval",),
    steps=8,
    evident=EVALUATED - 1,
    families=("llama", "gpt2", "neox", "own"),
)
