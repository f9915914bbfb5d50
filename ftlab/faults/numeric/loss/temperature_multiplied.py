"""Cosines of pairs are multiplied with the temperature, not divided by it.

All scores lie within 0.07 of 0. The softmax over the pairs is even for any vectors, and
the loss stays at that of guessing.

Fix: ``scores / temperature``.
Source: Radford et al. 2021, section 2.3 (logits are multiplied with 1 / 0.07).
"""

import torch
from torch import nn
from torch.nn import functional

from ftlab.faults.builders import VOCABULARY, Batch, Case, Fault, batches, set_seed
from ftlab.faults.builders.loops import plain_case

TEMPERATURE, PAIRS = 0.07, 8


def build(fixed: bool) -> Case:
    """Train vectors of the two halves of a text to find each other."""
    set_seed(0)
    model = nn.Sequential(nn.EmbeddingBag(VOCABULARY, 16), nn.Linear(16, PAIRS))
    scale = 1 / TEMPERATURE if fixed else TEMPERATURE

    def loss_of(batch: Batch) -> torch.Tensor:
        ids = batch["input_ids"]
        half = ids.shape[1] // 2
        both = model(torch.cat([ids[:, :half], ids[:, half:]]))
        one, other = functional.normalize(both, dim=-1).chunk(2)
        scores, own = one @ other.T * scale, torch.arange(len(ids))
        there = functional.cross_entropy(scores, own)
        return (there + functional.cross_entropy(scores.T, own)) / 2

    made = batches(size=PAIRS)
    return plain_case(model, rows=made, loss_of=loss_of)


FAULT = Fault(
    "the loss of the pairs stays at the logarithm of their number",
    code="NUM018",
    places=("op mul",),
    steps=4,
)
