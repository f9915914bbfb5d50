"""What is in use in each phase of a step, and who holds what grows (`Search`)."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any, ClassVar

import torch

from ftlab.probes.holding.heap import bytes_in_use
from ftlab.probes.holding.search import Search
from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.subject import Subject
from ftlab.probes.taps.listener import Shielded
from ftlab.probes.taps.shared import listen
from ftlab.records.event import Event
from ftlab.records.handle import Handle
from ftlab.records.holding import Growth
from ftlab.records.step import Column

SETTLED = 2
"""Forwards after which a loop without updates has all that stays."""

DENSE, SPARSE = 32, 16
"""Steps at first that are all read, and the distance of those that follow."""

PHASED = 8
"""Steps at first whose phases are read: glibc takes 0.7 ms to count a worn heap."""


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
        self._search = Search(clock)
        self._between = Search(clock, share=0.0, settled=SETTLED)
        self._forwards = 0
        self._summed = False  # a backward took what these forwards have made
        self._highest = 0.0
        self._pending: list[Event] = []
        self._found: list[Event] = []
        self._step = -1
        self._first: int | None = None
        self._now: dict[str, float] = {}

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Hear of backwards."""
        listener: Any = Shielded(self, lambda _: None)
        yield listen(listener)

    def _is_due(self, step: int) -> bool:
        if self._first is None:
            self._first = step
        since = step - self._first
        return since < DENSE or since % SPARSE == 0 or self._search.is_looking

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Read what is in use, and look around where it grows."""
        if self._forwards:
            self._end_of_forwards()
        if moment.step == self._step:  # a further micro-batch
            return
        step = self._step = moment.step
        used = bytes_in_use()
        self._now = {"idle_bytes": used}
        if growth := self._search.read(step, used, _elements(inputs)):
            self._found.append(_event(step, growth))
        if self._found:
            found, self._found = self._found, []
            yield Reading(torch.zeros(0), lambda _: found)

    def on_further_forward(
        self, moment: Moment, inputs: Mapping[str, Any]
    ) -> Iterable[Reading]:
        """Look for graphs that a loop without updates keeps, such as an evaluation."""
        self._forwards += 1
        used = bytes_in_use()
        growth = self._between.read(self._forwards, used, _elements(inputs))
        if graphs := [each for each in growth if each.what == "graph"]:
            self._highest = used
            self._pending.append(_event(moment.step, graphs, self._forwards))
        return ()

    def _end_of_forwards(self) -> None:
        """Tell what they kept, unless a backward of all of them needed it."""
        if not self._summed or bytes_in_use() >= self._highest:
            self._found += self._pending
        self._pending, self._forwards, self._summed = [], 0, False
        self._between.begin_again()

    def on_unfinished(self, step: int) -> Iterable[Event]:
        """Tell what was found even if no update comes."""
        if not self._summed:  # a look in the middle of a loop does not end it
            self._found += self._pending
            self._pending = []
        found, self._found = self._found, []
        return [replace(e, detail={**e.detail, "unfinished": True}) for e in found]

    def before_backward(self, losses: Any, weights: Any) -> None:
        """Read what the forward has left."""
        self._summed = self._forwards > 0
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
        since = self._step - (self._first or 0)
        if self._now and (since < PHASED or since % SPARSE == 0):
            self._now[phase] = bytes_in_use()

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Give the bytes that were in use in each phase of the step."""
        found, self._now = self._now, {}
        return found


def _elements(inputs: Mapping[str, Any]) -> int:
    sizes = (e.numel() for e in inputs.values() if isinstance(e, torch.Tensor))
    return max(sizes, default=0)


def _event(step: int, growth: list[Growth], forwards: int = 0) -> Event:
    words = ", ".join("".join(each.path) for each in growth)
    detail = {"growth": [asdict(each) for each in growth], "forwards": forwards}
    return Event("memory", step, time.time(), f"memory grows: {words}", detail)
