"""autocast around a whole iteration, update included, within one that is switched off.

Each iteration leaves the outermost context, and with it the casts of its weights. An
evaluation within autocast comes after the update, in the same context.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, base, batches, lora


def build() -> Case:
    """Build LoRA in float32."""
    model = lora(base())
    optimizer = adamw(model)

    def step(batch: Any) -> float:
        with (
            torch.autocast("cpu", enabled=False),
            torch.autocast("cpu", dtype=torch.bfloat16),
        ):
            optimizer.zero_grad()
            loss = model(**batch).loss
            loss.backward()
            optimizer.step()
            torch.clear_autocast_cache()
            with torch.no_grad():
                model(**batch)
        return float(loss.detach())

    return Case(model, optimizer, batches(), step)


HEALTHY = Healthy(
    "an update within autocast",
    looks_like=("NUM010",),
    steps=60,
)
