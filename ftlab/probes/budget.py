"""Keeps ftlab's own share of the training thread's time within a budget.

A light step records gradients, loss, rates, the order of operations and times. A full
one looks at everything, but for what takes turns: of that what has waited longest, what
is costly alone. What a step may cost beyond a light one goes into two purses: for full
steps, and a smaller one for turns; what the former does not need is the latter's.
What an empty purse would have to pay for waits. So intervals stretch, of all turns by
the same factor.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ftlab.probes.own_time import own_time
from ftlab.probes.probe import Probe
from ftlab.probes.schedule import Full, Schedule, Turn
from ftlab.records.budget import FIRST_LOOK, SHORTEST, STRIDE
from ftlab.records.errors import BadValueError

SAVED = 8
"""Steps whose allowance is saved at most: more would be spent in one go."""

LEAST = 0.25
"""Share of the allowance that is left to full steps, whatever light ones cost.

What is recorded in every step of a tiny model may take all of the millisecond that is
allowed. With a quarter every second fault of the gallery, 280 of 280, was found.
"""

FOR_FULL = 2 / 3
"""Share of the allowance that full steps have a right to; the rest is for turns, which
are taken in full steps alone."""

LONGEST = 8
"""Times `STRIDE`: the longest distance between two pairs of full steps that is aimed
at."""

FULL = "full steps"
"""What the cost of all that light steps leave out is told as."""

_LATEST = 0.25
"""Weight of the latest cost in a mean of costs."""


@dataclass(slots=True)
class _Waiting:
    """What takes turns: a probe, or part of one.

    Attributes
    ----------
    interval
        Steps between two turns if time does not matter.
    seconds
        What a turn has cost on the average, the latest ones above all.
    last, before
        The steps of its last two turns.
    times
        How many it has had.
    """

    interval: int
    seconds: float = 0.0
    last: int = -1
    before: int = -1
    times: int = 0
    _open: float = 0.0

    def turn(self, step: int) -> None:
        """Begin a turn, and learn what the one before has cost."""
        if step == self.last:
            return
        if self.times:
            weight = _LATEST if self.times > 1 else 1.0
            self.seconds += weight * (self._open - self.seconds)
        self.before, self.last, self._open = self.last, step, 0.0
        self.times += 1

    def add(self, step: int, seconds: float) -> bool:
        """Learn what one moment has cost; return whether it belongs to a turn."""
        own = step in (self.last, self.before)
        if own:
            self._open += seconds
        return own

    def expected(self) -> float:
        """Tell what a turn will cost."""
        return self.seconds or self._open


@dataclass(frozen=True, slots=True)
class _Promise:
    """What was chosen for a step will cost so much; ``costly`` is one that is alone."""

    seconds: float = 0.0
    costly: bool = False


_NOTHING = _Promise()


class Budget:
    """Decides which probes have their turn in a step.

    Parameters
    ----------
    share
        Of the training thread's time, above 0 and at most 1; ``None`` lets every probe
        measure as it is scheduled, and only counts.
    clock
        Seconds.

    Attributes
    ----------
    first
        The step with which watching begins.

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
        self._waiting: dict[str, dict[Turn, _Waiting]] = {}
        self._chosen: dict[int, frozenset[Turn]] = {}
        self._full: dict[int, bool] = {}
        self._wanted = self._latest = self._begun = -1
        self.first = 0
        self._saved = self._for_full = self._allowed = self._credit = 0.0
        self._usual = self._beyond = self._turns = 0.0
        self._promised: dict[int, _Promise] = {}
        self._lights = self._fulls = 0
        self._ended: float | None = None
        self._own = own_time.seconds

    def take(self, probes: Iterable[Probe]) -> None:
        """Let the probes that measure at a distance ask here for their turns."""
        for probe in probes:
            turns = {turn: _Waiting(turn.interval) for turn in _turns_of(probe)}
            if turns:
                self._waiting[probe.name] = turns
            for turn, waiting in turns.items():
                turn.decide = self._asked_by(turn, waiting)
            for each in vars(probe).values():
                if isinstance(each, Full):
                    each.decide = self.is_full

    def counts(self, name: str) -> bool:
        """Tell whether what a probe costs is asked for."""
        return name in self._waiting

    def spent(self, name: str, step: int, seconds: float) -> None:
        """Learn what a probe has cost at one moment of a step."""
        own = False
        for each in self._waiting[name].values():
            own |= each.add(step, seconds)
        if own:
            self._turns += seconds

    def is_full(self, step: int) -> bool:
        """Tell whether a step is measured in full, or lightly to keep the budget."""
        full = self._full.get(step)
        if full is None:
            before = self._full.get(step - 1, False)
            full = self._share is None or self._decides(step, before=before)
            self._full = {step - 1: before, step: full}
        return full

    def look_closer(self, step: int) -> None:
        """Measure this step and the next one in full, whatever that costs."""
        self._wanted = step + 1
        self._full = {step - 1: self._full.get(step - 1, False), step: True}

    def _decides(self, step: int, *, before: bool) -> bool:
        place = self._place(step)
        if place <= STRIDE or place in FIRST_LOOK or step <= self._wanted:
            return True
        if before:
            return step == self._begun + 1 or self._for_full > self._beyond
        begins = self._for_full > 0 and place % self._stride() == 0
        self._begun = step if begins else self._begun
        return begins

    def _stride(self) -> int:
        """Return the distance at which two full steps in a row can be paid for."""
        stride = STRIDE
        while (
            stride < LONGEST * STRIDE
            and stride * FOR_FULL * self._credit < 2 * self._beyond
        ):
            stride *= 2
        return stride

    def end(self, step: int) -> dict[str, float]:
        """End a step; return the seconds that ftlab has taken of it."""
        now, own = self._clock(), own_time.seconds
        taken, self._own = own - self._own, own
        turns, self._turns = self._turns, 0.0
        began, self._ended = self._ended, now
        full = self.is_full(step)
        if (
            began is not None
            and self._share is not None
            and self._place(step) not in FIRST_LOOK
        ):
            self._allowed = self._share * max(now - began - taken, SHORTEST)
            costly = self._promised.get(step, _NOTHING).costly
            self._pay(taken, turns, full=full, costly=costly)
        self._promised.pop(step, None)
        self._fulls += full
        self._lights += not full
        return (
            {"ftlab_seconds": taken} if full else {"ftlab_seconds": taken, "light": 1}
        )

    def _pay(self, taken: float, turns: float, *, full: bool, costly: bool) -> None:
        """Put the allowance of a step into the purses, and take out what is beyond it.

        A costly turn has a part in what hooks on modules take, which is not known
        apart; in other steps that is only noise.
        """
        beyond = max(taken - self._usual, 0.0) if full else 0.0
        turns = max(beyond - self._beyond, turns) if costly else min(turns, beyond)
        if not full:
            self._usual = _mean(self._usual, taken)
        elif not costly:
            self._beyond = _mean(self._beyond, beyond - turns)
        self._credit = max(self._allowed - self._usual, LEAST * self._allowed)
        part = FOR_FULL * self._credit
        self._for_full += part - max(beyond - turns, 0.0)
        over = max(self._for_full - SAVED * part, 0.0)
        self._for_full -= over
        over += self._credit - part
        self._saved = min(self._saved + over - turns, SAVED * self._credit)

    def told(self) -> dict[str, dict[str, float]]:
        """Return in how many steps each has measured, and the milliseconds of one."""
        light = {"steps": self._fulls, "planned": 1, "ms": round(1e3 * self._beyond, 3)}
        return ({FULL: light} if self._lights else {}) | {
            name: {
                "steps": max(each.times for each in turns.values()),
                "planned": min(each.interval for each in turns.values()),
                "ms": round(1e3 * sum(each.expected() for each in turns.values()), 3),
            }
            for name, turns in self._waiting.items()
            if any(each.times for each in turns.values())
        }

    def _asked_by(self, turn: Turn, waiting: _Waiting) -> Schedule:
        def decide(step: int) -> bool:
            place = self._place(step)
            if self._share is None or place in FIRST_LOOK:
                yes = turn.planned(place)
            else:
                yes = turn in self._chosen_at(step)
            if yes and step > waiting.last:
                waiting.turn(step)
            return yes

        return decide

    def _place(self, step: int) -> int:
        """Count steps from the one with which watching began."""
        return step - self.first

    def _chosen_at(self, step: int) -> frozenset[Turn]:
        if step not in self._chosen:
            before = self._chosen.get(step - 1, frozenset())
            now = self._choose(step) if self.is_full(step) else frozenset()
            self._chosen = {step - 1: before, step: now}
        return self._chosen[step]

    def _choose(self, step: int) -> frozenset[Turn]:
        """Choose those whose turn it is, the latest first, one of them costly.

        What is cheap does not wait until the costly ones have been paid for.
        """
        late = [
            ((step - waiting.last) / waiting.interval, turn, waiting)
            for turns in self._waiting.values()
            for turn, waiting in turns.items()
        ]
        late.sort(key=lambda each: -each[0])
        # A probe may ask for the next step while this one is yet to be paid for.
        left = self._saved - sum(each.seconds for each in self._promised.values())
        since, self._latest = step - self._latest, step
        least = self._credit / 2
        cheap = least * min(since, SAVED)
        chosen, before, costly = set(), left, False
        for share, turn, waiting in late:
            cost = waiting.expected()
            if share < 1:
                break
            if cost <= min(cheap, least):
                cheap -= cost
            elif left <= 0 or costly:
                continue
            else:
                costly = True
            chosen.add(turn)
            waiting.turn(step)
            left -= cost
        self._promised[step] = _Promise(before - left, costly)
        return frozenset(chosen)


def _mean(mean: float, latest: float) -> float:
    """Go on with a mean of costs; it begins with the first."""
    return mean + (_LATEST if mean else 1.0) * (latest - mean)


def _turns_of(probe: Any) -> Iterator[Turn]:
    """Find what a probe asks whether it is to measure."""
    held = vars(probe).values()
    return (e for e in held if isinstance(e, Turn) and not isinstance(e, Full))
