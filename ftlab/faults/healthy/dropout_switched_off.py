"""All dropouts are put into evaluation mode by themselves, to train without them.

And the blocks of a model without dropout: there nothing depends on the mode.
"""

import torch

from ftlab.faults.fault import Case, Healthy
from ftlab.faults.loops import plain_step
from ftlab.faults.tiny import adamw, batches
from ftlab.faults.zoo import opt


def build() -> Case:
    """Build an OPT whose dropouts are off."""
    model = opt(attention_dropout=0.0).train()
    for module in model.modules():
        if hasattr(module, "dropout"):
            module.dropout = 0.0
        if isinstance(module, torch.nn.Dropout):
            module.eval()
    optimizer = adamw(model)
    return Case(model, optimizer, batches(), plain_step(model, optimizer))


HEALTHY = Healthy(
    "dropout-switched-off",
    "every dropout is in evaluation mode, its parents are not",
    looks_like=("MOD006",),
    builder=build,
    steps=40,
)
