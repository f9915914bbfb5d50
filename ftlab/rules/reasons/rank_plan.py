"""AdaLoRA's plan for its ranks, and the clock that its allocator was told."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ftlab.rules.reading.wiring import adapters, trainable_tensors
from ftlab.runlog.run import Run


@dataclass(frozen=True, slots=True)
class Plan:
    """What an AdaLoRA configuration asks for."""

    adapter: str
    begin: int
    end: int
    total: int
    every: int
    target: int

    def share_left(self, step: float) -> float:
        """Return the share of the ranks to be taken that is left at ``step``."""
        along = (step - self.begin) / max(self.end - self.begin, 1)
        return float((1 - min(max(along, 0.0), 1.0)) ** 3)


@dataclass(frozen=True, slots=True)
class Clock:
    """What the allocator was told: ``told`` at the optimizer's ``steps``."""

    steps: NDArray[np.int64]
    told: NDArray[np.float64]

    @property
    def pace(self) -> float:
        """Growth per optimizer step."""
        return float(
            (self.told[-1] - self.told[0]) / max(int(self.steps[-1] - self.steps[0]), 1)
        )

    def at(self, step: int) -> float:
        """Return what it will be told at ``step``."""
        return float(self.told[0] + self.pace * (step - self.steps[0]))


def plan_of(run: Run) -> Plan | None:
    """Return what the AdaLoRA that is trained asks for."""
    for name, described, config in adapters(run):
        kind = str(described.get("type", "")).upper()
        if kind != "ADALORA" or not trainable_tensors(described):
            continue
        total = int(config.get("total_step") or 0)
        begin, final = int(config.get("tinit") or 0), int(config.get("tfinal") or 0)
        every = int(config.get("deltaT") or 1)
        target = int(config.get("target_r") or 0)
        return Plan(name, begin, total - final, total, every, target)
    return None


def clock_of(run: Run) -> Clock:
    """Return what the allocator was told, at the steps at which it was called."""
    table = run.steps
    if "allocator_step" not in table.columns:
        return Clock(table.step[:0], np.zeros(0))
    known = table.known("allocator_step")
    return Clock(table.step[known], table["allocator_step"][known].astype(np.float64))


def length_of(run: Run, clock: Clock) -> tuple[float, bool]:
    """Return what the allocator is told last, and whether the run's end is known."""
    told = [run.facts.training.get("max_steps")]
    told += [
        (each.get("asked") or {}).get("num_training_steps")
        for each in run.facts.schedulers
    ]
    planned = [n for n in told if isinstance(n, int | float) and n > 0]
    now = float(clock.told[-1])
    return (max(clock.at(int(planned[0]) - 1), now), True) if planned else (now, False)
