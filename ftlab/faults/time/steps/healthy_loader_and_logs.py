"""A loader in the main process, a number read back in each step, a log now and then.

All of that takes time, and none of it much.
"""

import time
from typing import Any

from torch.utils.data import DataLoader

from ftlab.faults.builders import Case, Healthy, adamw, lora
from ftlab.faults.time.steps.rows_made_while_training import Rows


def build() -> Case:
    """Train from a loader, and log each tenth loss."""
    model = lora()
    optimizer = adamw(model)
    loader = DataLoader(Rows(fixed=True), batch_size=2)
    batches = [batch for _ in range(5) for batch in loader]
    losses: list[float] = []

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if len(losses) % 10 == 0:
            time.sleep(0.005)  # as long as writing a line to a tracker takes
        return losses[-1]

    return Case(model, optimizer, batches, step)


HEALTHY = Healthy(
    "a loader in the main process, and logs",
    looks_like=("TIM001", "TIM002", "TIM003", "MEM001"),
)
