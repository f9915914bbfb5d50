"""A loop of accelerate that counts its micro-batches itself and clips group by group.

The bare optimizer steps after each second micro-batch. It is out of phase with
``accumulate``: each update comes while accelerate means to be gathering. Both factors
are clipped on their own.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, lora

MICRO, LIMIT = 2, 0.05


def build() -> Case:
    """Build LoRA in a loop that accumulates by hand, within accumulate()."""
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=3 * MICRO)
    model = accelerator.prepare(lora())
    optimizer = adamw(model, lr=5e-3)
    named = list(model.named_parameters())
    firsts, seconds = (
        [p for name, p in named if part in name] for part in ("lora_A", "lora_B")
    )

    def step(group: Any) -> float:
        total = 0.0
        for batch in group:
            with accelerator.accumulate(model):
                loss = model(**batch).loss
                accelerator.backward(loss)
                total += float(loss.detach()) / MICRO
        torch.nn.utils.clip_grad_norm_(firsts, LIMIT)
        torch.nn.utils.clip_grad_norm_(seconds, LIMIT)
        optimizer.step()
        optimizer.zero_grad()
        return total

    rows: list[dict[str, torch.Tensor]] = batches(8, size=2)
    groups = [rows[index : index + MICRO] for index in range(0, 8, MICRO)]
    return Case(model, optimizer, groups, step)


HEALTHY = Healthy(
    "updates come while accelerate gathers, and several clippings come before each",
    looks_like=("GRD005", "GRD011"),
)
