"""All dropouts are put into evaluation mode by themselves, to train without them.

Nothing depends on the mode any more, so it is evaluated in training mode as well.
"""

import torch

from ftlab.faults.builders import Case, Healthy, adamw, at, batches, loop_with, opt

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
    made = batches()

    def evaluate() -> None:
        with torch.no_grad():
            for each in made:
                model(**each)

    return loop_with(model, optimizer, made, before=at(EVALUATED - 1, evaluate))


HEALTHY = Healthy(
    "every dropout is in evaluation mode, its parents are not",
    looks_like=("MOD006", "MOD010"),
    steps=40,
)
