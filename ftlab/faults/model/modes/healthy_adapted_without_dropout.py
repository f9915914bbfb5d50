"""LoRA is trained in evaluation mode on purpose, whatever its configuration says.

``model.eval()`` stands before the loop. Evaluations put back the mode that they found;
one of them, of a library, ends with ``train()``, and the loop undoes that.
"""

from typing import Any

import torch

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.faults.fault import Case, Healthy

EVERY = 8
"""Steps between two evaluations."""


def build() -> Case:
    """Build LoRA with a dropout that shall not be used."""
    model = lora(lora_dropout=0.05).eval()
    optimizer, made = adamw(model), batches()
    train = plain_step(model, optimizer)

    def step(batch: Any) -> float:
        if len(case.losses) % EVERY == EVERY - 1:
            with torch.no_grad():
                model(**made[0])
            model.train()
        model.eval()
        return train(batch)

    case = Case(model, optimizer, made, step)
    return case


HEALTHY = Healthy(
    "adapted-without-dropout",
    "the adapter's dropout is off for the whole run, whatever calls train()",
    looks_like=("MOD006",),
    steps=40,
)
