"""A loop with accelerate: prepared objects, and ``accumulate`` decides when to step.

Optimizer and scheduler are called at every micro-batch and do nothing at most of them.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, batches, lora
from ftlab.faults.builders.trainers import STEPS

MICRO = 2


def build() -> Case:
    """Build LoRA in a loop of accelerate with two micro-batches per step."""
    from accelerate import Accelerator
    from transformers import get_linear_schedule_with_warmup

    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=MICRO)
    bare = lora()
    optimizer = adamw(bare, lr=5e-3)
    schedule = get_linear_schedule_with_warmup(optimizer, 20, STEPS)
    model, optimizer, schedule = accelerator.prepare(bare, optimizer, schedule)

    def micro(batch: Any) -> float:
        with accelerator.accumulate(model):
            loss = model(**batch).loss
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        return float(loss.detach())

    def step(group: Any) -> float:
        return sum(micro(batch) for batch in group) / MICRO

    rows: list[dict[str, torch.Tensor]] = batches(8, size=2)
    groups = [rows[index : index + MICRO] for index in range(0, 8, MICRO)]
    return Case(model, optimizer, groups, step, scheduler=schedule)


HEALTHY = Healthy(
    "step, scheduler and zero_grad are called once per micro-batch",
    looks_like=("OPT003", "GRD003", "ADP001"),
)
