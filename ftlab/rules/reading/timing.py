"""What is known of the time of steps, for the rules about it."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from ftlab.records.step_time import PHASES, HotPlace, Sampled, column_of
from ftlab.rules.rule import Run, Severity, needs_step_values

SETTLED = 4
"""Steps at first that load, compile and fill caches; they are left out."""

LEAST_STEPS = 8
"""Steps that shares are taken over."""

LEAST_SAMPLES = 20
"""Looks at the training thread from which a line is named."""

SELDOM = frozenset({"logging", "evaluation", "saving"})
"""Phases that come once in many steps."""

MATTERS = 10.0
"""Seconds of a run from which time that is lost is a warning."""

LEAST_MET = 8
"""Looks that must have met a line."""

CLEAR = 0.4
"""Part of a phase that a line must have to be named as its cause."""

NEEDS = needs_step_values(
    column_of("forward"), "the time of each step by phase", "ftlab.watch(...)"
)


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Seconds of a usual step by phase, without ftlab's own.

    Attributes
    ----------
    steps
        The first and the last one.
    seconds
        By phase: the median of what comes in each step, which no pause of the machine
        moves, and the mean of what comes now and then (`SELDOM`).
    count
        How many steps there are.
    sampled
        Where the training thread was found.
    """

    steps: tuple[int, int]
    seconds: dict[str, float]
    count: int
    sampled: Sampled

    @property
    def step(self) -> float:
        """Seconds of a step."""
        return sum(self.seconds.values())

    def share(self, phase: str) -> float:
        """Return the part of a step that a phase takes."""
        return self.seconds[phase] / self.step if self.step else 0.0

    def severity(self, phase: str) -> Severity:
        """Tell how much it matters: what costs seconds in all is only noted."""
        lost = self.seconds[phase] * self.count
        return Severity.WARNING if lost >= MATTERS else Severity.INFO

    def hottest(self, phase: str) -> HotPlace | None:
        """Return the line where most of a phase was met, if there is such a line."""
        every = self.sampled.places
        steps = {e.place for e in every if e.phase in ("forward", "backward")}
        # a line that is met in forward too is the call that trains, and no cause
        places = [e for e in every if e.phase == phase and e.place not in steps]
        met: Counter[str] = Counter()
        for each in places:
            met[each.place] += each.samples
        line, count = max(met.items(), key=lambda each: each[1], default=("", 0))
        if not line or count < max(CLEAR * met.total(), LEAST_MET):
            return None
        same = (each for each in places if each.place == line)
        return max(same, key=lambda each: each.samples)


def step_times(run: Run) -> StepTimes | None:
    """Return the means over the settled steps.

    ``None`` where there are too few, or nobody looked at the training thread.
    """
    events = [each for each in run.whole.events if each.kind == "time"]
    sampled = Sampled.from_json(events[-1].detail) if events else None
    if sampled is None or sampled.samples < LEAST_SAMPLES:
        return None
    steps = run.steps
    first = int(steps.step[0]) + SETTLED if len(steps) else 0
    chosen = steps.step >= first
    known = chosen & steps.known(column_of("forward"))
    if known.sum() < LEAST_STEPS:
        return None
    seconds: dict[str, float] = {}
    for phase in PHASES:
        if phase != "ftlab":
            usual = np.mean if phase in SELDOM else np.median
            seconds[phase] = float(usual(steps[column_of(phase)][known]))
    found = steps.step[known]
    ends = int(found[0]), int(found[-1])
    return StepTimes(ends, seconds, len(found), sampled)


def at_line(place: HotPlace) -> str:
    """Write a place with its function and its line.

    Examples
    --------
    >>> from ftlab.records.step_time import HotPlace
    >>> from ftlab.rules.reading.timing import at_line
    >>> at_line(HotPlace("data", "train.py:7", "load", "open(name)", "", 9))
    'train.py:7 in load: open(name)'
    """
    within = f" in {place.function}" if place.function.isidentifier() else ""
    called = f" ({place.library})" if place.library else ""
    return f"{place.place}{within}: {place.line}{called}"
