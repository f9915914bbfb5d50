"""What the learning rates of a run were asked to be, next to what they were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.records.facts import Facts
from ftlab.records.rate_formulas import asked_rates
from ftlab.records.schedule_lengths import total_of, warmup_of
from ftlab.records.trainer_schedule import trainer_schedule
from ftlab.runlog.steps import StepTable

Rates = NDArray[np.float64]
MOST_STEPS = 1_000_000
"""Steps of a schedule that are computed, at most."""
TOLERANCE = 1e-4
"""Share of the largest rate by which a rate may be off: logs keep single precision."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """What was asked for.

    Attributes
    ----------
    rates
        Of shape ``(steps, groups)``; NaN where the formula is not known.
    warmup, total
        The steps at which warm-up and the plan end; 0 where none is planned.
    given
        Whether there is a scheduler, or a Trainer that will make one.
    """

    rates: Rates
    warmup: int = 0
    total: int = 0
    given: bool = False

    @property
    def known(self) -> bool:
        """Whether the formula of any group is known."""
        return bool(np.isfinite(self.rates[:1]).any())

    @property
    def peak(self) -> float:
        """The largest rate that was asked for."""
        return float(np.nanmax(self.rates)) if self.known else 0.0


@dataclass(frozen=True, slots=True)
class Compared:
    """Realised rates against those asked for, by recorded step.

    Attributes
    ----------
    asked
        Of shape ``(steps, groups)``; NaN where it is not known.
    """

    step: NDArray[np.int64]
    rates: Rates
    asked: Rates

    @property
    def difference(self) -> Rates:
        """Realised less asked."""
        return self.rates - self.asked


def schedule_of(facts: Facts, groups: int, steps: int) -> Schedule:
    """Return what was asked for the steps 0 to ``steps - 1``, or to the planned end.

    A scheduler is taken to step once with each optimizer step.
    """
    meant = _by_arguments(facts, groups)
    entries = facts.schedulers or (() if meant is None else (meant,))
    kinds = [(str(each.get("class")), each.get("asked") or {}) for each in entries]
    total = max((int(total_of(*kind)[0]) for kind in kinds), default=0)
    planned = total or int(facts.training.get("max_steps") or 0)
    rates = np.full((min(max(planned, steps), MOST_STEPS), groups), np.nan)
    firsts = _first_groups(facts)
    owners = [int(each.get("optimizer_index") or 0) for each in entries]
    for each, owner in zip(entries, owners, strict=True):
        base = (each.get("asked") or {}).get("base_lrs") or ()
        made = asked_rates(each, base, len(rates)) if len(base) else None
        if made is None or owners.count(owner) > 1:  # a product of unknown factors
            continue
        first = firsts[owner] if owner < len(firsts) else 0
        room = rates[:, first : first + made.shape[1]]
        room[:] = made[:, : room.shape[1]]
    warmup = max((round(warmup_of(*kind)[0]) for kind in kinds), default=0)
    return Schedule(rates, warmup, planned, bool(entries))


def compare(steps: StepTable, schedule: Schedule, shift: Counted) -> Compared:
    """Look up what was asked for at each of some steps.

    Parameters
    ----------
    shift
        Of the steps before these; says whether skipped steps count.
    """
    count: NDArray[Any] = steps.step
    if shift.without_skipped:
        skipped = steps["skipped"]
        count = count - shift.skipped - np.cumsum(skipped) + skipped
    asked = np.full(steps["lr"].shape, np.nan)
    inside = (count >= 0) & (count < len(schedule.rates))
    asked[inside] = schedule.rates[count[inside]]
    return Compared(steps.step, steps["lr"], asked)


@dataclass(frozen=True, slots=True)
class Counted:
    """How steps of the schedule are counted.

    Attributes
    ----------
    without_skipped
        Whether skipped steps are left out: a Trainer's scheduler stands still in them,
        a loop's own goes on. What fits the run better counts.
    skipped
        How many steps were skipped before.
    """

    without_skipped: bool = False
    skipped: int = 0


@dataclass(slots=True)
class Tally:
    """What is off so far, in one way of counting; grows with the run.

    Attributes
    ----------
    total
        The differences, added up.
    steps, wrong
        How many steps were compared, and in how many of them a rate was off.
    first
        The first of those: step, rate and what was asked for.
    """

    counted: Counted
    total: float = 0.0
    steps: int = 0
    wrong: int = 0
    first: tuple[int, float, float] | None = None

    def add(self, steps: StepTable, schedule: Schedule) -> None:
        """Compare the next steps."""
        found = compare(steps, schedule, self.counted)
        off = furthest(found.difference)
        wrong = np.flatnonzero(np.abs(off) > TOLERANCE * schedule.peak)
        if len(wrong) and self.first is None:
            at = int(wrong[0])
            group = int(np.nanargmax(np.abs(found.difference[at])))
            was, asked = found.rates[at, group], found.asked[at, group]
            self.first = int(found.step[at]), float(was), float(asked)
        skipped = self.counted.skipped + int(steps["skipped"].sum())
        self.counted = replace(self.counted, skipped=skipped)
        self.total += float(np.nansum(np.abs(off)))
        self.steps += len(steps)
        self.wrong += len(wrong)


def furthest(difference: Rates) -> Rates:
    """Return each step's difference that is furthest from 0, with its sign."""
    if not difference.shape[1]:
        return np.full(len(difference), np.nan)
    size = np.nan_to_num(np.abs(difference), nan=-1.0)
    return difference[np.arange(len(difference)), size.argmax(1)]


def _first_groups(facts: Facts) -> list[int]:
    sizes = [len(each.get("groups") or ()) for each in facts.optimizers]
    return [0, *np.cumsum(sizes).tolist()]


def _by_arguments(facts: Facts, groups: int) -> Mapping[str, Any] | None:
    """Return the schedule that a Trainer's arguments stand for."""
    found = trainer_schedule(facts.training)
    rate = (facts.training.get("args") or {}).get("learning_rate")
    if found is None or not isinstance(rate, int | float):
        return found
    return {**found, "asked": {**found["asked"], "base_lrs": [float(rate)] * groups}}
