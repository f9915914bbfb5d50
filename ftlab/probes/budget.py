"""Keeps ftlab's own share of the training thread's time within a budget.

What a step may cost is added to a purse, what it has cost is taken out. The probe that
has waited longest for its turn is next: one that is costly once the purse is not empty,
and alone in its step. So intervals stretch by themselves, all by the same factor.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ftlab.probes.own_time import own_time
from ftlab.probes.probe import Probe
from ftlab.probes.schedule import DENSE, Schedule, Turn
from ftlab.records.errors import BadValueError

SHORTEST = 0.05
"""Seconds that a step counts as at least: 2 % of them are one millisecond."""

SAVED = 8
"""Steps whose allowance is saved at most: more would be spent in one go."""

_LATEST = 0.25
"""Weight of the latest cost in the mean of a probe's costs."""


@dataclass(slots=True)
class _Waiting:
    """One probe that takes turns.

    Attributes
    ----------
    seconds
        What a turn has cost on the average, the latest ones above all.
    last
        The step of its last turn.
    times
        Steps in which it did something.
    """

    interval: int
    seconds: float = 0.0
    last: int = -1
    times: int = 0
    _step: int = -1
    _open: float = 0.0

    def add(self, step: int, seconds: float) -> None:
        """Learn what one moment of a step has cost."""
        if step != self._step:
            weight = _LATEST if self.times > 1 else 1.0
            self.seconds += weight * (self._open - self.seconds)
            self._step, self._open = step, 0.0
            self.times += 1
        self._open += seconds

    def expected(self) -> float:
        """Tell what a turn will cost."""
        return self.seconds or self._open


class Budget:
    """Decides which probes have their turn in a step.

    Parameters
    ----------
    share
        Of the training thread's time, above 0 and at most 1; ``None`` lets every probe
        measure as it is scheduled, and only counts.
    clock
        Seconds.

    Raises
    ------
    BadValueError
        The share is not within these bounds.

    Examples
    --------
    >>> from ftlab.probes.budget import Budget
    >>> Budget(2)
    Traceback (most recent call last):
    ...
    ftlab.records.errors.BadValueError: budget=2: this is ftlab's share of a step's \
time, above 0 and at most 1, such as budget=0.02; budget=None measures everything on \
schedule.
    """

    def __init__(
        self,
        share: float | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        if share is not None and not 0 < share <= 1:
            msg = (
                f"budget={share!r}: this is ftlab's share of a step's time, above 0 "
                f"and at most 1, such as budget=0.02; budget=None measures everything "
                f"on schedule."
            )
            raise BadValueError(msg)
        self._share = share
        self._clock = clock
        self._waiting: dict[str, _Waiting] = {}
        self._chosen: dict[int, frozenset[str]] = {}
        self._first: int | None = None
        self._saved = self._allowed = 0.0
        self._ended: float | None = None
        self._own = own_time.seconds

    def take(self, probes: Iterable[Probe]) -> None:
        """Let the probes that measure at a distance ask here for their turns."""
        for probe in probes:
            turns = list(_turns_of(probe))
            if turns:
                interval = min(each.interval for each in turns)
                self._waiting[probe.name] = _Waiting(interval)
            for each in turns:
                each.decide = self._asked_by(probe.name) if self._share else None

    def spent(self, name: str, step: int, seconds: float) -> None:
        """Learn what a probe has cost at one moment of a step."""
        if name in self._waiting:
            self._waiting[name].add(step, seconds)

    def end(self, step: int) -> dict[str, float]:
        """End a step; return the seconds that ftlab has taken of it."""
        now, own = self._clock(), own_time.seconds
        taken, self._own = own - self._own, own
        began, self._ended = self._ended, now
        if began is not None and self._share is not None and not self._is_first(step):
            self._allowed = self._share * max(now - began - taken, SHORTEST)
            saved = self._saved + self._allowed - taken
            self._saved = min(saved, SAVED * self._allowed)
        return {"ftlab_seconds": taken}

    def told(self) -> dict[str, dict[str, float]]:
        """Return how often each probe has measured, and the milliseconds it took."""
        return {
            name: {"steps": each.times, "ms": round(1e3 * each.expected(), 3)}
            for name, each in self._waiting.items()
            if each.times
        }

    def _asked_by(self, name: str) -> Schedule:
        def decide(step: int) -> bool:
            if self._is_first(step):
                self._waiting[name].last = step
                return True
            if step not in self._chosen:
                chosen = self._choose(step)
                self._chosen = {step - 1: self._chosen.get(step - 1, frozenset())}
                self._chosen[step] = chosen
            return name in self._chosen[step]

        return decide

    def _is_first(self, step: int) -> bool:
        """Whether it is one of the steps with which watching begins."""
        if self._first is None:
            self._first = step
        return step < self._first + DENSE

    def _choose(self, step: int) -> frozenset[str]:
        """Choose those whose turn it is, the latest first, one of them costly."""
        late = {n: (step - w.last) / w.interval for n, w in self._waiting.items()}
        chosen, left, costly = set(), self._saved, False
        for name in sorted(late, key=lambda name: -late[name]):
            waiting = self._waiting[name]
            cost = waiting.expected()
            if late[name] < 1 or left <= 0:
                break
            if cost > self._allowed:
                if costly:
                    continue
                costly = True
            elif cost > left:
                continue
            chosen.add(name)
            waiting.last = step
            left -= cost
        return frozenset(chosen)


def _turns_of(probe: Any) -> Iterator[Turn]:
    """Find what a probe asks whether it is to measure."""
    return (each for each in vars(probe).values() if isinstance(each, Turn))
