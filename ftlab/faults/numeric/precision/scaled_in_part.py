"""Of two losses, one goes through the scaler and the other does not.

Both add their gradients, and unscaling divides both: the second one's are 65536 times
too small, as if that loss were not there.

Fix: scale each of them.
Source: torch.amp, "Working with Multiple Models, Losses, and Optimizers".
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, base, batches, lora


def build(fixed: bool) -> Case:
    """Build LoRA that is trained on two halves of a batch."""
    model = lora(base())
    optimizer = adamw(model)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        first, second = [{k: v[half::2] for k, v in batch.items()} for half in (0, 1)]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            task = model(**first).loss
        scaler.scale(task).backward()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            other = model(**second).loss
        (scaler.scale(other) if fixed else other).backward()
        scaler.step(optimizer)
        scaler.update()
        return float(task.detach())

    return Case(model, optimizer, batches(), step, scaler=scaler)


FAULT = Fault(
    "one of two losses has no effect",
    code="NUM006",
    places=("call loss.backward",),
    evident=1,
)
