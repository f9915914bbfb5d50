"""What the learning rates of a run were asked to be, next to what they were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ftlab.records.rate_formulas import asked_rates
from ftlab.records.schedule_lengths import total_of, warmup_of
from ftlab.records.trainer_schedule import trainer_schedule

if TYPE_CHECKING:
    from ftlab.records.facts import Facts
    from ftlab.runlog.steps import StepTable

Rates = NDArray[np.float64]
MOST_STEPS = 1_000_000
"""Steps of a schedule that are computed, at most."""


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
    without_skipped
        Whether skipped steps were left out of the count: a Trainer's scheduler stands
        still in them, a loop's own goes on. What fits the run better counts.
    """

    step: NDArray[np.int64]
    rates: Rates
    asked: Rates
    without_skipped: bool

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


def compare(steps: StepTable, schedule: Schedule) -> Compared:
    """Look up what was asked for at each recorded step."""
    rates, skipped = steps["lr"], steps["skipped"]
    tried = [_at(schedule.rates, steps.step)]
    if skipped.any():
        made = steps.step - np.cumsum(skipped) + skipped
        tried.append(_at(schedule.rates, made))
    off = [float(np.nansum(np.abs(rates - each))) for each in tried]
    best = int(np.argmin(off))
    return Compared(steps.step, rates, tried[best], best > 0)


def _at(rates: Rates, count: NDArray[Any]) -> Rates:
    inside = (count >= 0) & (count < len(rates))
    found = np.full((len(count), rates.shape[1]), np.nan)
    found[inside] = rates[count[inside]]
    return found


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
