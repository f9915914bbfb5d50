"""The smallest change of a step that would fit into memory, by rehearsing it."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from ftlab.executions.pairs import is_checkpointed
from ftlab.laboratory.memory.optimizers import optimizer_maker
from ftlab.laboratory.memory.step import StepPlan, rehearsed, sized

SECONDS = 60.0
"""Time after which no further change is tried."""

SLACK = 0.95
"""Share of the room that a step may take: allocators keep some."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change of a step.

    Attributes
    ----------
    words
        What is to be changed, as one would write it in ``TrainingArguments``.
    peak
        What the step then takes, predicted; 0 before that is known.
    """

    words: str
    rows: int
    length: int
    plan: StepPlan
    peak: float = 0.0


def fitting(
    model: torch.nn.Module, shape: tuple[int, int], plan: StepPlan, room: float
) -> Remedy | None:
    """Return the first change with which a step fits into ``room`` bytes.

    They are tried from those that change least to those that change most.
    """
    began = time.monotonic()
    for each in _changes(model, *shape, plan):
        if time.monotonic() - began > SECONDS:
            return None
        peak = rehearsed(model, sized(each.rows, each.length), each.plan).peak
        if peak <= SLACK * room:
            return replace(each, peak=peak)
    return None


def _changes(
    model: torch.nn.Module, rows: int, length: int, plan: StepPlan
) -> Iterator[Remedy]:
    half, few = replace(plan, accumulating=True), max(rows // 2, 1)
    halved = f"per_device_train_batch_size={few}, gradient_accumulation_steps=2"
    single = f"per_device_train_batch_size=1, gradient_accumulation_steps={rows}"
    checked = "gradient_checkpointing=True"
    able = hasattr(model, "gradient_checkpointing_enable")
    on = plan.checkpointing or (plan.checkpointing is None and is_checkpointed(model))
    if rows > 1:
        yield Remedy(halved, few, length, half)
    if able and not on:
        plan, half = (replace(each, checkpointing=True) for each in (plan, half))
        yield Remedy(checked, rows, length, plan)
        halved, single = f"{checked}, {halved}", f"{checked}, {single}"
        if rows > 1:
            yield Remedy(halved, few, length, half)
    if rows > 2:
        yield Remedy(single, 1, length, half)
    least = single if rows > 1 else checked * (able and not on)
    last = half if rows > 1 else plan
    if plan.optimizer is not None:
        last = replace(last, optimizer=optimizer_maker("adamw_8bit"))
        least = ", ".join(filter(None, (least, 'optim="adamw_bnb_8bit"')))
        yield Remedy(least, 1, length, last)
    if length > 1:
        short = ", ".join(filter(None, (least, f"rows of {length // 2} tokens")))
        yield Remedy(short, 1, length // 2, last)
