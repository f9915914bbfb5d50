"""The view of the learning-rate schedule: what the rates were, and were asked to be."""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ftlab.runlog.run import Run
from ftlab.views.charts.lines import CAPACITY, LinesView
from ftlab.views.charts.plan import LinesSummary, Panel, Plan, Series
from ftlab.views.steps.schedule_asked import (
    MOST_STEPS,
    Counted,
    Schedule,
    Tally,
    compare,
    furthest,
    schedule_of,
)
from ftlab.views.style import SERIES, count, number

MOST_GROUPS = 6
"""More groups with rates of their own are in the table only."""


class ScheduleView(LinesView):
    """The learning rate of each parameter group against the formula of its schedule.

    The wide pale line is the plan, up to the planned end; the thin one is
    what the optimizer had. Groups with equal rates are drawn as one. Where the formula
    is not known (a function of one's own, a schedule that follows a metric) only the
    actual rates are shown. A scheduler is taken to step once per optimizer step.

    Examples
    --------
    >>> from ftlab.records.facts import Facts
    >>> from ftlab.records.step import StepRecord
    >>> from ftlab.runlog.run import Run
    >>> from ftlab.views.steps.schedule import ScheduleView
    >>> run = Run()
    >>> halves = {"step_size": 2, "gamma": 0.5, "base_lrs": [1.0]}
    >>> run.append(Facts(schedulers=({"class": "StepLR", "asked": halves},)))
    >>> for step, rate in enumerate([1.0, 1.0, 0.5, 0.125]):
    ...     run.append(StepRecord(step, 0.0, lr=(rate,)))
    >>> ScheduleView(run)
    Schedule: 4 steps
    0.125 at step 3
    off in 1 of 4 steps, first at step 3: 0.125, planned 0.5
    """

    title = "Schedule"

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._key: Hashable = None
        self._built: Hashable = None
        self._schedule = Schedule(np.empty((0, 0)))
        self._tallies: tuple[Tally, ...] = ()
        self._same: tuple[int, ...] = ()
        self._seen = 0

    def headline(self) -> str:
        """Return the rate now, and whether it is as planned, in one line."""
        with self._lock:
            self._look()
            rates = self._run.steps["lr"]
            if not rates.size:
                return ""
            if not self._schedule.given and not (rates != rates[:1]).any():
                return ""
            return f"{self._now()}; {self._verdict()}"

    def _adopt(self, run: Run) -> None:
        super()._adopt(run)
        self._key, self._same, self._seen = None, (), 0

    def _look(self) -> None:
        """See the plan, and which groups have rates of their own."""
        run, taken = self._run, self._run.last_step + 1
        rates = run.steps["lr"]
        groups = rates.shape[1]
        if len(self._same) != groups:
            self._same, self._seen = (0,) * groups, 0
        self._same = _told_apart(self._same, rates[self._seen :])
        self._seen = len(rates)
        facts = len(run.facts_history)
        long_enough = min(taken, MOST_STEPS) <= len(self._schedule.rates)
        key = id(run), facts, groups
        if self._key != key or not long_enough:
            self._key = key
            steps = taken if taken < 256 else 2 * taken
            self._schedule = schedule_of(run.facts, groups, steps)
            self._tallies = Tally(Counted(False)), Tally(Counted(True))
        self._tally_up()

    def _tally_up(self) -> None:
        """Compare the steps that have come since the last time."""
        start = self._run.steps.step[self._tallies[0].steps :][:1]
        if not len(start) or not self._schedule.known:
            return
        new = self._run.window(int(start[0])).steps
        for tally in self._tallies:
            tally.add(new, self._schedule)

    @property
    def _tally(self) -> Tally:
        """What is off, in the way of counting that fits the run better."""
        return min(self._tallies, key=lambda tally: tally.total)

    def _distinct(self) -> list[int]:
        return sorted(set(self._same))[:MOST_GROUPS]

    def _make_plan(self) -> Plan:
        self._look()
        groups, known = self._distinct(), self._schedule.known
        rows = {f"rate_{group}": "latest" for group in groups}
        rows |= {f"asked_{group}": "latest" for group in groups}
        rows |= {"warmup": "largest", "end": "largest"}
        rows |= {"off_low": "smallest", "off_high": "largest", "off": "latest"}
        wide = [
            Series(f"asked_{group}", self._label(group, "planned"), colour, "plan")
            for group, colour in zip(groups, SERIES, strict=False)
            if known
        ]
        thin = [
            Series(f"rate_{group}", self._label(group, "actual"), colour)
            for group, colour in zip(groups, SERIES, strict=False)
        ]
        marks = [
            Series("warmup", "warm-up ends", SERIES[2], "mark"),
            Series("end", "planned end", SERIES[3], "mark"),
        ]
        off = (
            Series("off_low", "", SERIES[1], "low"),
            Series("off_high", "", SERIES[1], "high"),
            Series("off", "", SERIES[1]),
        )
        panels = [Panel("Learning rate", (*wide, *thin, *marks))]
        if known:
            panels.append(Panel("Difference from plan", off, unit="% of the peak"))
        stride = 1
        while self._planned() > stride * CAPACITY:
            stride *= 2
        return Plan(rows, tuple(panels), stride=stride)

    def _label(self, group: int, what: str) -> str:
        if len(set(self._same)) == 1:
            return what
        members = [str(at) for at, one in enumerate(self._same) if one == group]
        if what == "planned":
            # each pale line has the colour of its group's own; one is named for all
            return "planned" if group == 0 else ""
        return f"group{'s' if len(members) > 1 else ''} {', '.join(members)}"

    def _planned(self) -> int:
        return min(self._schedule.total, len(self._schedule.rates))

    def _follow(self) -> None:
        self._look()
        built = self._key, self._tally.counted.without_skipped
        if built != self._built:
            self._built, self._plan = built, None
        super()._follow()

    def _restart(self) -> None:
        """Draw the plan first, to its end; what is realised is drawn over it."""
        super()._restart()
        schedule, stride = self._schedule, self._columns.stride
        steps = np.arange(0, self._planned(), stride)
        if not len(steps):
            return
        names = list((self._plan or self._make_plan()).rows)
        table = np.full((len(steps), len(names)), np.nan)
        for group in self._distinct():
            at = np.minimum(steps + stride - 1, len(schedule.rates) - 1)
            table[:, names.index(f"asked_{group}")] = schedule.rates[at, group]
        for name, step in (("warmup", schedule.warmup), ("end", schedule.total - 1)):
            if 0 < step < self._planned():
                table[step // stride, names.index(name)] = 1
        self._columns.extend(steps, table)

    def _read(self, start: int, stop: int) -> tuple[NDArray[np.int64], ArrayLike]:
        steps = self._run.window(start, stop).steps
        skipped = int(self._run.window(0, start).steps["skipped"].sum())
        way = Counted(self._tally.counted.without_skipped, skipped)
        found = compare(steps, self._schedule, way)
        rates, groups = found.rates, self._distinct()
        asked = np.full((len(rates), len(groups)), np.nan)
        beyond = found.step >= self._planned()
        asked[beyond] = found.asked[beyond][:, groups]
        nothing = np.full((len(rates), 2), np.nan)
        off = 100 * furthest(found.difference) / (self._schedule.peak or 1.0)
        table = [rates[:, groups], asked, nothing, np.repeat(off[:, None], 3, 1)]
        return found.step, np.concatenate(table, 1)

    def _now(self) -> str:
        rates = self._run.steps["lr"]
        words = ", ".join(
            dict.fromkeys(number(float(rates[-1, at])) for at in self._distinct())
        )
        text = f"{words} at step {self._run.last_step}"
        total = self._schedule.total
        return text + (f" of {total:,}" if total else "")

    def _verdict(self) -> str:
        if not self._schedule.known:
            return "formula not known" if self._schedule.given else "no scheduler given"
        tally = self._tally
        if tally.first is None:
            return "as planned"
        step, was, asked = tally.first
        text = f"off in {tally.wrong:,} of {count(tally.steps, 'step')}, first at step "
        return f"{text}{step}: {number(was)}, planned {number(asked)}"

    def _notes(self) -> tuple[str, ...]:
        if not self._run.steps["lr"].size:
            return ("not recorded",)
        notes = [self._now()]
        warmup = self._schedule.warmup
        if warmup:
            notes[0] += f"; warm-up {'ends' if self._ahead() else 'ended'} at {warmup}"
        notes.append(self._verdict())
        if self._schedule.known and self._tally.counted.without_skipped:
            notes.append("Skipped steps are not counted.")
        return tuple(notes)

    def _ahead(self) -> bool:
        return self._run.last_step < self._schedule.warmup

    def _data(self) -> Mapping[str, Any]:
        way = Counted(self._tally.counted.without_skipped)
        found = compare(self._run.window(0).steps, self._schedule, way)
        groups = found.rates.shape[1]
        return {
            "step": np.repeat(found.step, groups),
            "group": np.tile(np.arange(groups), len(found.step)),
            "rate": found.rates.ravel(),
            "asked": found.asked.ravel(),
            "difference": found.difference.ravel(),
        }

    def _text(self, summary: LinesSummary) -> str:
        if summary.notes[0] == "not recorded":
            return "Schedule: nothing recorded yet"
        taken = len(self._run.steps)
        return "\n".join([f"Schedule: {count(taken, 'step')}", *summary.notes])


def _told_apart(same: tuple[int, ...], rates: NDArray[Any]) -> tuple[int, ...]:
    """Split groups that were equal so far by new rates of shape ``(steps, groups)``."""
    firsts: list[int] = []
    told = []
    for group, before in enumerate(same):
        equal = (
            one
            for one in firsts
            if same[one] == before
            and np.array_equal(rates[:, one], rates[:, group], equal_nan=True)
        )
        first = next(equal, group)
        if first == group:
            firsts.append(group)
        told.append(first)
    return tuple(told)
