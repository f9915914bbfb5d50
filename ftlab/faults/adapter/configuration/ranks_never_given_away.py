"""AdaLoRA in a loop that never calls ``update_and_allocate``.

Ranks are given away by a method of the model that nothing calls by itself. Without it
AdaLoRA is a LoRA of ``init_r`` with a penalty on top; the loss falls as it should.

Fix: ``model.base_model.update_and_allocate(step)`` after ``optimizer.step()`` and
before ``zero_grad``.
Source: huggingface/peft#432, #1801; huggingface/sentence-transformers#3842.
"""

from typing import Any

from ftlab.faults.builders.methods import ranked
from ftlab.faults.builders.tiny import adamw, batches
from ftlab.faults.fault import Case, Fault

STEPS = 24


def build(fixed: bool) -> Case:
    """Build AdaLoRA, with or without the call."""
    model = ranked(STEPS)
    optimizer = adamw(model, lr=5e-3)

    def step(batch: Any) -> float:
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        if fixed:
            model.base_model.update_and_allocate(len(case.losses) + 1)
        optimizer.zero_grad()
        return float(loss.detach())

    case = Case(model, optimizer, batches(), step)
    return case


FAULT = Fault(
    "ranks-never-given-away",
    "AdaLoRA keeps all ranks that it began with",
    code="ADP036",
    places=("call update_and_allocate",),
    builder=build,
    steps=STEPS,
    evident=6,
    families=("llama", "gpt2", "neox"),
)
