"""Looks who holds what grows, where memory in use grows.

Who calls whom: a `Search` is told what is in use before each step (by `Leaks`, in the
training; by `in_worker`, in a process of a loader). Where that keeps growing, or where
steps are so long that looking costs nothing, three surveys are taken; what grew between
them is told by name.
"""

import time
from collections.abc import Callable
from dataclasses import replace

from ftlab.probes.holding.edges import forget_types
from ftlab.probes.holding.growth import grown
from ftlab.probes.holding.holders import described, grown_unreached
from ftlab.probes.holding.look import Look
from ftlab.probes.holding.survey import survey
from ftlab.probes.holding.trend import LEAST, RELEVANT, Trend
from ftlab.probes.holding.walk import MOST, Walk
from ftlab.records.holding import Growth, Path

SETTLED = 6
"""Steps after which caches, optimizer state and our own records are there."""

APART = 2
"""Steps from one survey to the next; more where what grows was read more seldom."""

WAIT = 64
"""Steps after which it is looked again; each time four times as many."""

SHARE = 0.01
"""Share of the time so far that surveys may take where nothing is suspected."""

PER_OBJECT = 4e-6
"""Seconds that a survey takes for each object: 3e-6 in a model, 6e-6 in token rows."""

LASTS = 0.2
"""Seconds that three surveys take, until it is known."""

EXPLAINED = 0.5
"""Share of the growth that named holders must have; else it is looked deeper."""


class Search:
    """Takes what is in use before each step; where it grows, finds who holds it.

    Parameters
    ----------
    clock
        Tells the seconds.
    share
        Of the time so far that surveys may take where nothing is suspected.
    settled
        Steps after which all is there that stays.
    deeper
        Whether to look for tensors that no name reaches where names explain too little.

    Attributes
    ----------
    is_looking
        Whether it is in between surveys, and wants each step.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.perf_counter,
        share: float = SHARE,
        settled: int = SETTLED,
        *,
        deeper: bool = True,
    ) -> None:
        self._clock, self._share = clock, share
        self._settled, self._deeper = settled, deeper
        self._began: float | None = None
        self._cost = LASTS
        self._trend = Trend()
        self._step = self._first = -1
        self._used = 0.0
        self._before = 0
        self._looks: list[Look] = []
        self._deep = False
        self._most = MOST
        self._apart = APART
        self._next = 0
        self._wait = WAIT
        self._told: set[Path] = set()

    @property
    def is_looking(self) -> bool:
        """Whether the next survey is to come."""
        return bool(self._looks)

    def read(self, step: int, used: float, elements: int) -> list[Growth]:
        """Take what is in use before a step; return what is found to grow.

        Parameters
        ----------
        step
            Its number; the first one may be any.
        used
            Bytes.
        elements
            Of the batch that comes.
        """
        if self._began is None:
            self._began, self._first = self._clock(), step
        self._step, self._used = step, used
        since = step - self._first
        if since >= self._settled:
            self._trend.add(step, used, elements, self._before)
        growth = self._look() if self._is_time(since) else []
        self._before = elements
        return growth

    def begin_again(self) -> None:
        """Forget what was read: what comes next is another loop."""
        self._looks, self._deep, self._trend = [], False, Trend()
        self._began = None

    def _is_time(self, since: int) -> bool:
        """Tell whether to look now: the next of three looks, or the first one."""
        if self._looks:
            return self._step - self._looks[-1].step >= self._apart
        if since < self._next or since < self._settled:
            return False
        self._apart = APART
        if self._trend.rate() > 0:
            self._most, self._apart = MOST, max(APART, self._trend.apart())
            return True
        allowed = self._share * (self._clock() - (self._began or 0.0))
        self._most = min(MOST, int(allowed / 3 / PER_OBJECT))
        return self._cost < allowed

    def _look(self) -> list[Growth]:
        """Take one survey; after the third, return what grew."""
        began = self._clock()
        look, walk = survey(self._step, self._before, deep=self._deep, most=self._most)
        self._looks.append(look)
        found: list[Growth] = []
        if not walk.is_whole:  # once four times as much may be spent, or much later
            self._looks, self._cost = [], 4 * self._cost
            if self._most == MOST:
                self._look_later()
        elif len(self._looks) == 2:
            self._look_deeper()
        elif len(self._looks) == 3:
            found = self._grown(walk)
        forget_types()
        self._cost = max(self._cost, 3 * (self._clock() - began))
        return found

    def _look_later(self) -> None:
        """Begin anew some time later."""
        self._looks, self._deep = [], False
        self._next = self._step - self._first + self._wait
        self._wait *= 4
        self._trend = Trend()

    def _look_deeper(self) -> None:
        """Begin again with all tensors where names explain too little."""
        rate = self._trend.rate()
        if not rate or self._deep or not self._deeper:
            return
        before, now = self._looks
        if now.bytes - before.bytes < EXPLAINED * rate * (now.step - before.step):
            self._deep = True
            look, _ = survey(self._step, self._before, deep=True, most=self._most)
            self._looks = [look]

    def _grown(self, walk: Walk) -> list[Growth]:
        looks = self._looks
        self._look_later()
        least = max(LEAST / 4, RELEVANT * self._used)
        found = [described(each, walk, looks) for each in grown(looks, least)]
        found += grown_unreached(looks, least)
        new = [each for each in found if each.path not in self._told]
        self._told.update(each.path for each in new)
        return [replace(each, threshold=least) for each in new]
