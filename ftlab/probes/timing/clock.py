"""Splits the wall time of the training thread into phases."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ftlab.probes.own_time import own_time

_BEFORE_UPDATE = "before update"
"""Between a backward and what follows: an update's clipping, or none of it."""


class StepClock:
    """Adds up the seconds of each phase until they are taken.

    What ftlab itself takes is a phase of its own.

    Attributes
    ----------
    phase
        The one under way.
    told
        Hears of each that begins.

    Examples
    --------
    >>> from ftlab.probes.timing.clock import StepClock
    >>> times = iter([0.0, 1.0, 3.0, 3.5, 4.0])
    >>> clock = StepClock(lambda: next(times))
    >>> clock.mark("forward")
    >>> clock.mark("backward")
    >>> clock.mark("other")
    >>> with clock.span("data"):
    ...     pass
    >>> clock.seconds
    {'forward': 1.0, 'backward': 2.0, 'other': 0.5, 'data': 0.5}
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._spent: defaultdict[str, float] = defaultdict(float)
        self.phase = "other"
        self.told: Callable[[str], object] = bool
        self._since: float | None = None
        self._own = own_time.so_far
        self._depth = 0

    @property
    def seconds(self) -> dict[str, float]:
        """What was added up, without what is under way."""
        return {phase: spent for phase, spent in self._spent.items() if spent}

    def mark(self, phase: str) -> None:
        """Begin a phase, unless one is under way that is entered and left."""
        if not self._depth:
            self._fold("optimizer" if phase == "optimizer" else "other")
            self._switch(phase)

    def after_backward(self) -> None:
        """Begin what is the update's if an update follows."""
        if not self._depth:
            self._switch(_BEFORE_UPDATE)

    @contextmanager
    def span(self, phase: str) -> Iterator[None]:
        """Count what runs within; an evaluation's own data is part of it."""
        own = phase == "data" and self.phase == "evaluation"
        if self._since is None or self._depth or own:
            yield
            return
        before = self.phase
        self._switch(phase)
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            self._switch(before)

    def take(self) -> dict[str, float]:
        """Return the seconds by phase, and begin anew."""
        self._switch(self.phase)
        self._fold("other")
        found, self._spent = self.seconds, defaultdict(float)
        return found

    def _fold(self, phase: str) -> None:
        if _BEFORE_UPDATE in self._spent or self.phase == _BEFORE_UPDATE:
            self._switch(self.phase)
            self._spent[phase] += self._spent.pop(_BEFORE_UPDATE, 0.0)

    def _switch(self, phase: str) -> None:
        now, own = self._clock(), own_time.so_far
        if self._since is not None:
            taken = own - self._own
            self._spent[self.phase] += max(now - self._since - taken, 0.0)
            if taken:
                self._spent["ftlab"] += taken
        before = self.phase
        self._since, self._own, self.phase = now, own, phase
        if phase != before:
            self.told(phase)
