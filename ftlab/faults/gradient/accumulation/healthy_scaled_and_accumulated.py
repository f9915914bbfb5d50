"""Mixed precision with a scaler, three micro-batches, unscaled before clipping.

Divided by the number of micro-batches of the update, which is two at the epoch's end.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, backwards, batches, lora, trainable

LIMIT = 0.05


def build() -> Case:
    """Build LoRA with a GradScaler that starts low."""
    model = lora()
    optimizer = torch.optim.SGD(trainable(model), lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0)

    def step(group: Any) -> float:
        optimizer.zero_grad()
        losses = (model(**batch).loss / len(group) for batch in group)
        total = backwards(losses, scaler)
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), LIMIT)
        scaler.step(optimizer)
        scaler.update()
        return total

    rows = batches(8, size=1)
    groups = [rows[:3], rows[3:6], rows[6:]]
    return Case(model, optimizer, groups, step, scaler=scaler)


HEALTHY = Healthy(
    "a loss is multiplied by 64, and clipping shrinks every gradient",
    looks_like=("GRD017", "GRD011", "GRD013"),
    steps=60,
)
