"""Tiny models and batches whose executions are compared."""

import torch
from torch import nn

from ftlab.executions.difference import compare
from ftlab.executions.pairs import Pair, side
from ftlab.faults.builders import tiny
from ftlab.records.difference import Born, Differences

PRECISIONS = (torch.float32, torch.bfloat16)
SMALL = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}


def llama(dtype=torch.float32, **settings):
    return tiny.llama(0, **(SMALL | settings)).to(dtype)


def llamas(dtype=torch.float32, **settings):
    """Return two of the same weights, the second with other settings."""
    return llama(dtype), llama(dtype, **settings)


def padded():
    """Return two rows; the second has three tokens of padding on its left."""
    made = tiny.batches(1, 2, 8)[0]
    made["attention_mask"][1, :3] = 0
    made["input_ids"][1, :3] = 0
    made["labels"][1, :4] = -100  # nothing is learnt from what follows padding
    return made


def difference(a, b, batch=None, within=None) -> Differences:
    """Compare two models on a batch, the second ``within`` some settings."""
    batch = padded() if batch is None else batch
    settings = {} if within is None else {"settings": within}
    return compare(Pair(side(a, batch), side(b, batch, **settings), ("a", "b")))


def told(found: Differences) -> Born:
    """Return the one difference that is told."""
    (born,) = found.born
    assert not found.equal
    return born


class Small(nn.Module):
    """A model of nothing but torch: quick, with a buffer and a dropout."""

    def __init__(self, dropout=0.5) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(
            nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(dropout), nn.Linear(8, 4)
        )

    def forward(self, x, labels=None):
        out = self.layers(x)
        loss = None if labels is None else (out - labels).square().mean()
        return {"loss": loss, "out": out}


def small_batch():
    generator = torch.Generator().manual_seed(1)
    return {
        "x": torch.randn(5, 4, generator=generator),
        "labels": torch.randn(5, 4, generator=generator),
    }
