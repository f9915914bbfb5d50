"""Pairs are told apart by similarity, at a temperature of 0.01.

The scores are cosines divided by the temperature. At the start the softmax is as sure
as it is wrong, and without the temperature its loss would be lower: so it is meant.
"""

import torch
from torch import nn
from torch.nn import functional

from ftlab.faults.builders import VOCABULARY, Batch, Case, Healthy, batches, set_seed
from ftlab.faults.builders.loops import plain_case

TEMPERATURE, PAIRS = 0.01, 8


def build() -> Case:
    """Train a vector of each half of a text to find the other half's."""
    set_seed(0)
    model = nn.Sequential(nn.EmbeddingBag(VOCABULARY, 16), nn.Linear(16, PAIRS))

    def loss_of(batch: Batch) -> torch.Tensor:
        ids = batch["input_ids"]
        half = ids.shape[1] // 2
        both = model(torch.cat([ids[:, :half], ids[:, half:]]))
        one, other = functional.normalize(both, dim=-1).chunk(2)
        scores = one @ other.T / TEMPERATURE
        return functional.cross_entropy(scores, torch.arange(len(ids)))

    made = batches(size=PAIRS)
    return plain_case(model, rows=made, loss_of=loss_of)


HEALTHY = Healthy(
    "scores are multiplied with 100, and their softmax is sure and wrong",
    looks_like=("NUM013",),
)
