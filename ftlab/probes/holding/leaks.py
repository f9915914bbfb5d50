"""Looks who holds what grows, where memory in use grows.

Who calls whom: `Leaks.on_batch` reads what is in use before the first forward of a
step. Where that keeps growing, or where steps are so long that looking costs nothing,
three surveys are taken; what grew between them is told in an event, by name.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any, ClassVar

import torch

from ftlab.probes.holding.edges import forget_types
from ftlab.probes.holding.growth import grown
from ftlab.probes.holding.heap import bytes_in_use
from ftlab.probes.holding.holders import described, grown_unreached
from ftlab.probes.holding.look import Look
from ftlab.probes.holding.survey import survey
from ftlab.probes.holding.trend import LEAST, RELEVANT, Trend
from ftlab.probes.holding.walk import Walk
from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.subject import Subject
from ftlab.probes.taps.listener import Shielded
from ftlab.probes.taps.shared import listen
from ftlab.records.event import Event
from ftlab.records.handle import Handle
from ftlab.records.holding import Growth, Path
from ftlab.records.step import Column

SETTLED = 6
"""Steps after which caches, optimizer state and our own records are there."""

DENSE, SPARSE = 32, 16
"""Steps at first that are all read, and the distance of those that follow."""

APART = 2
"""Steps from one survey to the next."""

WAIT = 64
"""Steps after which it is looked again; each time four times as many."""

SHARE = 0.01
"""Share of the time so far that surveys may take where nothing is suspected."""

LASTS = 0.2
"""Seconds that three surveys take, until it is known."""

EXPLAINED = 0.5
"""Share of the growth that named holders must have; else it is looked deeper."""


class Leaks(Probe):
    """Reads the bytes in use before each step, and names the holders of a growth."""

    columns: ClassVar[tuple[Column, ...]] = (
        Column("idle_bytes", "bytes", "Allocated before the first forward of a step."),
        Column("forward_bytes", "bytes", "Allocated when its last backward begins."),
        Column("backward_bytes", "bytes", "Allocated when its update begins."),
        Column("update_bytes", "bytes", "Allocated after its update."),
    )

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.schedule = self._is_due
        self._clock = clock
        self._began: float | None = None
        self._cost = LASTS
        self._trend = Trend()
        self._step = -1
        self._first: int | None = None
        self._now: dict[str, float] = {}
        self._before = 0
        self._looks: list[Look] = []
        self._deep = False
        self._next = 0
        self._wait = WAIT
        self._told: set[Path] = set()

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Hear of backwards."""
        listener: Any = Shielded(self, lambda _: None)
        yield listen(listener)

    def _is_due(self, step: int) -> bool:
        if self._first is None:
            self._first = step
        since = step - self._first
        return since < DENSE or since % SPARSE == 0 or bool(self._looks)

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Read what is in use, and look around where it grows."""
        if moment.step == self._step:  # a further micro-batch
            return
        self._step = moment.step
        self._now = {"idle_bytes": bytes_in_use()}
        if self._began is None:
            self._began = self._clock()
        sizes = [e.numel() for e in inputs.values() if isinstance(e, torch.Tensor)]
        elements = max(sizes, default=0)
        since = moment.step - (self._first or 0)
        if since >= SETTLED:
            self._trend.add(
                moment.step, self._now["idle_bytes"], elements, self._before
            )
        growth = self._look(moment.step) if self._is_time(since) else []
        self._before = elements
        if growth:
            step = moment.step
            yield Reading(torch.zeros(0), lambda _: [_event(step, growth)])

    def before_backward(self, losses: Any, weights: Any) -> None:
        """Read what the forward has left."""
        self._read("forward_bytes")

    def before_update(self, moment: Moment) -> Iterable[Reading]:
        """Read what the backward has left."""
        self._read("backward_bytes")
        return ()

    def after_update(self, moment: Moment) -> Iterable[Reading]:
        """Read what the update has left."""
        self._read("update_bytes")
        return ()

    def _read(self, phase: str) -> None:
        if self._now:  # else this step is not one that is read
            self._now[phase] = bytes_in_use()

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Give the bytes that were in use in each phase of the step."""
        found, self._now = self._now, {}
        return found

    def _is_time(self, since: int) -> bool:
        """Tell whether to look now: the next of three looks, or the first one."""
        if self._looks:
            return self._step - self._looks[-1].step >= APART
        if since < self._next or since < SETTLED:
            return False
        lasted = self._clock() - (self._began or 0.0)
        return self._cost < SHARE * lasted or self._trend.rate() > 0

    def _look(self, step: int) -> list[Growth]:
        """Take one survey; after the third, return what grew."""
        began = self._clock()
        look, walk = survey(step, self._before, deep=self._deep)
        self._looks.append(look)
        found: list[Growth] = []
        if len(self._looks) == 2:
            self._look_deeper(step)
        elif len(self._looks) == 3:
            found = self._grown(walk)
        forget_types()
        self._cost = max(self._cost, 3 * (self._clock() - began))
        return found

    def _look_deeper(self, step: int) -> None:
        """Begin again with all tensors where names explain too little."""
        rate = self._trend.rate()
        if not rate or self._deep:
            return
        before, now = self._looks
        if now.bytes - before.bytes < EXPLAINED * rate * (step - before.step):
            self._deep = True
            self._looks = [survey(step, self._before, deep=True)[0]]

    def _grown(self, walk: Walk) -> list[Growth]:
        looks, self._looks, self._deep = self._looks, [], False
        least = max(LEAST / 4, RELEVANT * self._now["idle_bytes"])
        found = [described(each, walk, looks) for each in grown(looks, least)]
        found += grown_unreached(looks, least)
        self._next = self._step - (self._first or 0) + self._wait
        self._wait *= 4
        self._trend = Trend()
        new = [each for each in found if each.path not in self._told]
        self._told.update(each.path for each in new)
        return [replace(each, threshold=least) for each in new]


def _event(step: int, growth: list[Growth]) -> Event:
    words = ", ".join("".join(each.path) for each in growth)
    detail = {"growth": [asdict(each) for each in growth]}
    return Event("memory", step, time.time(), f"memory grows: {words}", detail)
