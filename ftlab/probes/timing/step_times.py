"""The seconds of each step by phase, and the lines of user code that take them.

Who calls whom: the taps tell `StepTimes` of backwards and updates, loaders and a
trainer's logs; forwards come as batches. `Sampler` asks the clock for the phase.
"""

import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import torch

from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.subject import Subject
from ftlab.probes.taps.listener import Shielded
from ftlab.probes.taps.shared import listen
from ftlab.probes.taps.spans import tap_spans
from ftlab.probes.timing.clock import StepClock
from ftlab.probes.timing.device import DeviceTimes
from ftlab.probes.timing.marks import Marks
from ftlab.probes.timing.sampler import Sampler
from ftlab.records.event import Event
from ftlab.records.handle import CallbackHandle, Handle
from ftlab.records.step import Column
from ftlab.records.step_time import PHASES, Sampled, column_of

FIRST_TOLD = 12
"""Steps after which it is said where the time went; again after twice as many."""

MORE = 1.1
"""Factor by which samples must have grown for a new event before that."""

_COLUMNS = {phase: column_of(phase) for phase in PHASES}


class StepTimes(Probe):
    """Takes the time of phases on the host, on CUDA by events; ``marks`` show them."""

    columns: ClassVar[tuple[Column, ...]] = (
        *(Column(name, "s", f"Of a step: {each}.") for each, name in _COLUMNS.items()),
        *DeviceTimes.columns,
    )

    def __init__(self, *, marks: bool = False) -> None:
        self._marked = marks
        self.marks = Marks()
        self._begin()

    def _begin(self) -> None:
        self._clock = StepClock()
        self._clock.told = self.marks.turn_to if self._marked else bool
        self._device = DeviceTimes()
        self._sampler = Sampler(lambda: self._clock.phase)
        self._thread: int | None = None
        self._saving: list[Any] = []
        self._told = 0
        self._step = -1
        self._steps = 0
        self._next = FIRST_TOLD
        self._workers = -1
        self._anomaly = False

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Listen to the loop."""
        self._begin()  # each training begins anew
        listener: Any = Shielded(self, lambda _: None)
        yield listen(listener)
        yield CallbackHandle(self._sampler.stop)
        yield tap_spans(self._span, self._see_loader)
        if self._marked:
            yield from self.marks.attach(subject)

    def _span(self, phase: str) -> Any:
        """Return what counts for a phase while it is entered."""
        return self._clock.span(phase if self._is_here() else self._clock.phase)

    def _see_loader(self, workers: int) -> None:
        if self._is_here() and self._clock.phase != "evaluation":
            self._workers = workers

    def _is_here(self) -> bool:
        return self._thread in (None, threading.get_ident())

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Begin a forward; the first one starts the sampler."""
        if self._thread is None:
            self._thread = threading.get_ident()
            self._sampler.start(self._thread)
        if not self._is_here():
            return
        self.marks.begin(moment.step)
        self._clock.mark("forward")
        self._device.mark("forward", inputs)
        self._anomaly = self._anomaly or torch.is_anomaly_enabled()
        self._steps += moment.step != self._step
        self._step = moment.step
        if self._steps > self._next and self._is_news():
            self._next *= 2
            step, sampled = moment.step, self._sampled()
            yield Reading(torch.zeros(0), lambda _: [_event(step, sampled)])

    def on_evaluation(self, moment: Moment) -> Iterable[Reading]:
        """Begin an evaluation: a forward without a graph."""
        self._mark("evaluation")
        return ()

    def before_backward(self, losses: Any, weights: Any) -> None:
        """Begin a backward."""
        self._mark("backward")

    def after_backward(self) -> None:
        """End it; clipping may follow."""
        if self._is_here():
            self._clock.after_backward()
            self._device.mark("optimizer")

    def before_clip(self, parameters: Any, how: Any) -> None:
        """Mark what is the update's already."""
        if self._is_here():
            self.marks.turn_to("optimizer")

    def before_step(self, optimizer: Any, closure: bool) -> None:
        """Begin an update."""
        if not closure:
            self._mark("optimizer")

    def after_step(self, optimizer: Any) -> None:
        """End it."""
        if self._is_here():
            self._clock.mark("other")
            self._device.mark("end")

    def before_saving(self) -> None:
        """Begin to save."""
        span = self._span("saving")
        span.__enter__()
        self._saving.append(span)

    def after_saving(self) -> None:
        """End it."""
        if self._saving:
            self._saving.pop().__exit__(None, None, None)

    def after_update(self, moment: Moment) -> Iterable[Reading]:
        """Hand over what the device has been asked to time."""
        finish = self._device.take()
        if finish is not None:
            yield Reading(torch.zeros(0), finish)

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Give the seconds of each phase since the step before ended."""
        if self._thread is None:
            return {}
        spent = self._clock.take()
        self.marks.begin(moment.step + 1)
        return {name: spent.get(phase, 0.0) for phase, name in _COLUMNS.items()}

    def on_unfinished(self, step: int) -> Iterable[Event]:
        """Tell what is known by now where it is much more than before."""
        return [_event(step, self._sampled())] if self._is_news() else []

    def _mark(self, phase: str) -> None:
        if self._is_here():
            self._clock.mark(phase)
            self._device.mark(phase)

    def _is_news(self) -> bool:
        return self._sampler.samples > MORE * self._told

    def _sampled(self) -> Sampled:
        self._told = self._sampler.samples
        return Sampled(self._told, self._sampler.places(), self._workers, self._anomaly)


def _event(step: int, sampled: Sampled) -> Event:
    words = f"{sampled.samples} looks at the training thread"
    return Event("time", step, time.time(), words, sampled.as_json())
