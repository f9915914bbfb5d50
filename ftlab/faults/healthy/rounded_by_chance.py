"""Pure bf16 at a small learning rate, rounded up or down by chance.

An update far below the distance of two numbers moves few weights, each by a whole step;
on average all of them move as they should.
"""

from typing import Any

import torch

from ftlab.faults.fault import Case, Healthy
from ftlab.faults.tiny import batches, llama, trainable
from ftlab.faults.trainers import seeded


def build() -> Case:
    """Build a Llama in bf16 under Adam with stochastic rounding."""
    model = llama().to(torch.bfloat16)
    weights: list[Any] = trainable(model)
    optimizer = torch.optim.AdamW(weights, lr=2e-6, weight_decay=0.0)
    dice = seeded()

    def round_down_or_up(wide: torch.Tensor) -> torch.Tensor:
        bits = wide.view(torch.int32)
        noise = torch.randint(0, 1 << 16, bits.shape, generator=dice).int()
        return ((bits + noise) & -65536).view(torch.float32).to(torch.bfloat16)

    def update() -> None:
        for weight in weights:
            weight.data, weight.grad = weight.data.float(), weight.grad.float()
        optimizer.step()
        for weight in weights:
            weight.data = round_down_or_up(weight.data)
            weight.grad = None

    def step(batch: Any) -> float:
        loss = model(**batch).loss
        loss.backward()
        update()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step)


HEALTHY = Healthy(
    "rounded-by-chance",
    "49 of 50 stored weights do not change in an update",
    looks_like=("NUM002",),
    builder=build,
)
