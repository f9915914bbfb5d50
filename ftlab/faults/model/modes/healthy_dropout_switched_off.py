"""All dropouts are put into evaluation mode by themselves, to train without them.

Nothing depends on the mode any more, so it is evaluated in training mode as well.
"""

from typing import Any

import torch

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, batches
from ftlab.faults.builders.zoo import opt
from ftlab.faults.fault import Case, Healthy

EVALUATED = 20
"""The step at which all batches go through it without gradients."""


def build() -> Case:
    """Build an OPT whose dropouts are off."""
    model = opt(attention_dropout=0.0).train()
    for module in model.modules():
        if hasattr(module, "dropout"):
            module.dropout = 0.0
        if isinstance(module, torch.nn.Dropout):
            module.eval()
    optimizer = adamw(model)
    made, done = batches(), [0]
    train = plain_step(model, optimizer)

    def step(batch: Any) -> float:
        done[0] += 1
        if done[0] == EVALUATED:
            with torch.no_grad():
                for each in made:
                    model(**each)
        return train(batch)

    return Case(model, optimizer, made, step)


HEALTHY = Healthy(
    "dropout-switched-off",
    "every dropout is in evaluation mode, its parents are not",
    looks_like=("MOD006", "MOD010"),
    steps=40,
)
