"""AdaLoRA's allocator is told the number of the micro-batch.

With four micro-batches to a step its clock goes four times as fast as that of the
training: all ranks are given away in the first quarter of the run, before it is known
which of them are needed.

Fix: call ``update_and_allocate(global_step)`` once per optimizer step.
Source: huggingface/peft#1801 (``total_batched_samples`` was passed).
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, adamw, backwards, batches
from ftlab.faults.builders.methods import ranked

PARTS = 4
STEPS = 24


def build(fixed: bool) -> Case:
    """Build a loop with accumulation that tells the one number or the other."""
    model = ranked(STEPS)
    optimizer = adamw(model, lr=5e-3)

    def step(batch: Any) -> float:
        parts = [{k: v[at::PARTS] for k, v in batch.items()} for at in range(PARTS)]
        total = backwards(model(**part).loss / PARTS for part in parts)
        optimizer.step()
        done = len(case.losses) + 1
        model.base_model.update_and_allocate(done if fixed else PARTS * done)
        optimizer.zero_grad()
        return total

    case = Case(model, optimizer, batches(), step)
    return case


FAULT = Fault(
    "AdaLoRA has given all ranks away before the training has really begun",
    code="ADP036",
    places=("call update_and_allocate",),
    steps=STEPS,
    evident=8,
    families=("llama", "gpt2", "neox"),
)
