"""The latest outputs are kept, and batches become longer and longer.

A deque holds four of them, so what it holds grows only with the batches.
"""

import collections
from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, lora


def build() -> Case:
    """Keep four outputs of a loop whose rows become longer."""
    model = lora()
    optimizer = adamw(model)
    latest: collections.deque[torch.Tensor] = collections.deque(maxlen=4)
    made = batches()
    width = made[0]["input_ids"].shape[1]
    count = 0

    def step(batch: Any) -> float:
        nonlocal count
        count += 1
        short = {key: value[:, : 4 + count % width] for key, value in batch.items()}
        optimizer.zero_grad()
        output = model(**short)
        output.loss.backward()
        optimizer.step()
        latest.append(output.logits.detach())
        return float(output.loss.detach())

    return Case(model, optimizer, made, step)


HEALTHY = Healthy(
    "the latest outputs are kept, and batches become longer",
    looks_like=("MEM001",),
)
