"""Keeps ftlab's own share of the training thread's time within a budget.

What a step may cost is added to a purse, what measuring beyond every step's has cost is
taken out. What has waited longest for its turn is next: it is taken once the purse is
not empty, and where it is costly, alone. So intervals stretch, all by the same factor.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ftlab.probes.own_time import own_time
from ftlab.probes.probe import Probe
from ftlab.probes.schedule import Schedule, Turn
from ftlab.records.budget import FIRST_LOOK, SHORTEST
from ftlab.records.errors import BadValueError

SAVED = 8
"""Steps whose allowance is saved at most: more would be spent in one go."""

LEAST = 0.5
"""Share of the allowance that is left to turns, whatever every step costs by itself.

What is recorded in every step of a tiny model takes more than the millisecond that is
allowed. With a quarter of that, costly probes had a turn after 60 to 125 steps.
"""

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
        self.first = 0
        self._saved = self._allowed = self._credit = 0.0
        self._usual = self._turns = 0.0
        self._promised: dict[int, _Promise] = {}
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

    def end(self, step: int) -> dict[str, float]:
        """End a step; return the seconds that ftlab has taken of it."""
        now, own = self._clock(), own_time.seconds
        taken, self._own = own - self._own, own
        turns, self._turns = self._turns, 0.0
        began, self._ended = self._ended, now
        if (
            began is not None
            and self._share is not None
            and self._place(step) not in FIRST_LOOK
        ):
            self._allowed = self._share * max(now - began - taken, SHORTEST)
            self._pay(taken, turns, costly=self._promised.get(step, _NOTHING).costly)
        self._promised.pop(step, None)
        return {"ftlab_seconds": taken}

    def _pay(self, taken: float, turns: float, *, costly: bool) -> None:
        """Put the allowance of a step into the purse, and take its turns out.

        A costly turn has a part in what hooks on modules take, which is not known
        apart; in other steps that is only noise.
        """
        if costly:
            turns = max(taken - self._usual, turns)
        else:
            weight = _LATEST if self._usual else 1.0
            self._usual += weight * (taken - turns - self._usual)
        self._credit = max(self._allowed - self._usual, LEAST * self._allowed)
        self._saved = min(self._saved + self._credit - turns, SAVED * self._credit)

    def told(self) -> dict[str, dict[str, float]]:
        """Return in how many steps each has measured, and the milliseconds of one."""
        return {
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
            self._chosen = {step - 1: before, step: self._choose(step)}
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
        chosen, cheap, before, costly = set(), self._credit / 2, left, False
        for share, turn, waiting in late:
            cost = waiting.expected()
            if share < 1:
                break
            if cost <= cheap:
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


def _turns_of(probe: Any) -> Iterator[Turn]:
    """Find what a probe asks whether it is to measure."""
    return (each for each in vars(probe).values() if isinstance(each, Turn))
