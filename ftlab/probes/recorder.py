"""The recorder: attaches taps and probes to a subject, and makes records of it.

Who calls whom: taps tell the `Loop`; the loop calls the probes and hands over each step
that is over; the recorder brings what was measured to the host and gives the records to
the sink, on the training thread, when they have arrived: one step late, or of some
light steps together.
"""

import time
import types
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.budget import Budget
from ftlab.probes.compilation.compiled_hooks import ASIDE, HooksInGraphs, may_attach
from ftlab.probes.probe import Probe, Reading
from ftlab.probes.probe_set import ProbeSet
from ftlab.probes.readback import Delivery
from ftlab.probes.rows import RowBook
from ftlab.probes.stepping.loop import Loop
from ftlab.probes.stepping.open_step import OpenStep, Source
from ftlab.probes.stepping.step_records import late_records, records_of
from ftlab.probes.stepping.steps import Steps
from ftlab.probes.subject import Subject
from ftlab.probes.taps.forward import tap_forward
from ftlab.probes.taps.listener import Shielded, shield
from ftlab.probes.taps.rebinding import one_pass
from ftlab.probes.taps.scaler import tap_scaler
from ftlab.probes.taps.shared import listen
from ftlab.records.errors import FtlabWarning
from ftlab.records.handle import CallbackHandle, HandleStack
from ftlab.records.unbroken import unbroken

Sink = Callable[[Any], None]

TOGETHER, APART = 16, 0.5
"""Light steps, and seconds, after which their records are made: of several in a row
that takes half of what it takes one by one, between the user's own work."""


@dataclass(frozen=True, slots=True)
class _Harvest:
    """A step that is over, with its values on their way to the host."""

    step: OpenStep
    trainer_step: int | None
    sources: list[tuple[Source, Reading]]
    delivery: Delivery


class Recorder:
    """Watches a training loop and gives records of it to a sink.

    Parameters
    ----------
    subject
        What is watched.
    probes
        What is measured; each name once.
    sink
        Gets `NameRecord`, `Block`, `LedgerEntry` and, last of each step, its
        `StepRecord`. Called on the training thread: it should queue and return.
    first_step
        Number of the first step; above 0 after a resume.
    budget
        Decides which probes have their turn; without one all measure as scheduled.

    Attributes
    ----------
    trainer_step
        Set from outside to what the trainer counts; goes with the step under way.
    prompt
        Set from outside where each record is waited for: those of light steps are not
        made together then.

    more
        Whether the record of another step follows at once.

    Notes
    -----
    What is done to the model after its last step (saved, loaded, merged) is given at
    `detach` and belongs to that step. So does what probes tell of a step that was not
    over, because it raised.

    Attaching in the middle of an accumulation is allowed: the first step then has
    ``partial`` = 1 among its values, its gradients are whole, and its loss and
    micro-batches are those seen since.

    An optimizer step, or a whole training step, that the user compiles is one graph in
    which nothing of ours may stand: it is not seen. A compiled model is. Under a stance
    that refuses to compile anything anew, hooks are not put on where they would make
    the compiled step raise, and stay on, silent, where taking them off would.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.tensors.gradients import Gradients
    >>> from ftlab.probes.recorder import Recorder
    >>> from ftlab.probes.subject import Subject
    >>> from ftlab.records.step import StepRecord
    >>> model = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> records = []
    >>> with Recorder(Subject(model, [optimizer]), [Gradients()], records.append):
    ...     loss = model(torch.ones(1, 2)).sum()
    ...     loss.backward()
    ...     optimizer.step()
    >>> step = [each for each in records if isinstance(each, StepRecord)][0]
    >>> round(step.grad_norm, 3), step.lr
    (1.732, (0.1,))
    """

    def __init__(
        self,
        subject: Subject,
        probes: Sequence[Probe],
        sink: Sink,
        *,
        first_step: int = 0,
        budget: Budget | None = None,
    ) -> None:
        self.trainer_step: int | None = None
        self.prompt = self.more = False
        self._subject = subject
        self._sink = sink
        self._probes = ProbeSet(probes, budget)
        self._probes.budget.first = first_step
        self._handles: HandleStack = HandleStack()
        self._waiting: deque[_Harvest] = deque()
        self._delivered = 0.0
        self._first_step = first_step
        self._last: tuple[int, int] | None = None
        self._loop: Loop | None = None
        self._listener: Any = None
        self._failure: Exception | None = None

    @property
    def failure(self) -> Exception | None:
        """The error of our own that ended watching, or ``None``."""
        return self._failure

    @property
    def measured(self) -> dict[str, dict[str, float]]:
        """In how many steps each probe has measured; see `Budget.told`."""
        return self._probes.budget.told()

    @property
    def step(self) -> int:
        """The step that is under way."""
        return self._first_step if self._loop is None else self._loop.step.step

    @property
    def accumulating(self) -> bool:
        """Whether backwards were seen that no optimizer has made a step of."""
        step = None if self._loop is None else self._loop.step
        return step is not None and step.backwards > 0 and not step.over

    @property
    def stamp(self) -> tuple[int, int]:
        """What differs when parameters or the state of adapters have changed."""
        return (-1, -1) if self._loop is None else self._loop.stamp

    def attach(self) -> Self:
        """Put everything on; a failure takes off what was put on before."""
        HooksInGraphs.take_off_what_is_left()
        if self._loop is not None:
            return self
        if not may_attach():
            warnings.warn(ASIDE, FtlabWarning, stacklevel=2)
            return self
        with unbroken():
            try:
                with one_pass():
                    self._attach()
            except BaseException:
                self._loop = None
                self._take_off()
                raise
        return self

    def detach(self) -> None:
        """Take everything off and deliver what is still on its way; idempotent."""
        HooksInGraphs.take_off_what_is_left()
        if self._loop is None:
            return
        with unbroken():
            try:
                self._take_off()
            finally:
                loop, self._loop = self._loop, None
                if self._failure is None:
                    with self._listener.lock:  # another thread may still be heard
                        shield(self._finish, self._fail)(loop)
                self._first_step = loop.step.step
                self._listener = None  # it knows the loop, which knows the parameters
                loop.let_go()

    def catch_up(self) -> None:
        """Deliver all steps that are over, the latest one too; waits for the device.

        Without it the latest step comes when the next one begins, or at `detach`: only
        then is it certain that nothing else belongs to it. So it stays under way while
        an optimizer or the scaler has not had its turn in it; a scheduler's step that
        follows opens the next step's ledger. Does nothing in another thread than the
        one that trains.
        """
        if self._loop is not None and self._failure is None:
            shield(self._catch_up, self._fail)(self._loop)

    def _catch_up(self, loop: Loop) -> None:
        if loop.is_here():
            self._tell_unfinished(loop)
            if loop.step.complete(self._subject.live_optimizers):
                loop.close()
            self._deliver(wait=True)

    def __enter__(self) -> Self:
        return self.attach()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        self.detach()

    def _attach(self) -> None:
        steps = Steps(
            self._subject,
            self._probes,
            RowBook(self._sink),
            self._harvest,
            self._first_step,
        )
        self._loop = loop = Loop(steps, self._sink)
        listener: Any = Shielded(loop, self._fail)
        self._listener = listener
        self._handles = HooksInGraphs()
        self._handles.add(CallbackHandle(self._probes.detach))  # goes last
        self._handles.add(steps.watched.attach())
        self._probes.attach(self._subject)
        self._handles.add(listen(listener))
        scaler = self._subject.scaler
        if scaler is not None and not isinstance(scaler, torch.amp.GradScaler):
            self._handles.add(tap_scaler(listener, type(scaler)))
        self._handles.add(tap_forward(listener, self._subject.model))

    def _take_off(self) -> None:
        handles, self._handles = self._handles, HandleStack()
        if self._listener is not None:
            self._listener.silence()
        with one_pass():
            handles.remove()

    def _harvest(self, step: OpenStep) -> None:
        sources = [
            (source, reading)
            for source, readings in step.readings.items()
            for reading in readings
        ]
        delivery = Delivery([reading.values for _, reading in sources])
        self._waiting.append(_Harvest(step, self.trainer_step, sources, delivery))
        self._last = step.step, len(step.ledger.records(step.step))
        if self._is_time(step.step):
            self._deliver()

    def _is_time(self, step: int) -> bool:
        """Tell whether records are made, and not only when more steps are over."""
        now = time.perf_counter()
        soon = now < self._delivered + APART and len(self._waiting) < TOGETHER
        if soon and not self.prompt and not self._probes.budget.is_full(step):
            return False
        self._delivered = now
        return True

    def _deliver(self, *, wait: bool = False) -> None:
        while self._waiting and (wait or self._waiting[0].delivery.arrived()):
            harvest = self._waiting.popleft()
            self.more = bool(self._waiting) and (
                wait or self._waiting[0].delivery.arrived()
            )
            arrays = harvest.delivery.arrays(wait=wait)
            for record in self._records(harvest, arrays):
                self._sink(record)

    def _records(
        self, harvest: _Harvest, arrays: list[NDArray[np.float32]]
    ) -> Iterable[Any]:
        step = harvest.step
        results = [
            result
            for (source, reading), values in zip(harvest.sources, arrays, strict=True)
            for result in self._probes.finish(source, step.step, reading, values)
        ]
        return records_of(step, results, harvest.trainer_step)

    def _tell_unfinished(self, loop: Loop) -> None:
        """Give what is known of the step under way, before anything can raise."""
        number = self._last[0] if self._last else 0
        for event in self._probes.unfinished(loop.step.step):
            self._sink(replace(event, step=number))

    def _finish(self, loop: Loop) -> None:
        self._tell_unfinished(loop)
        loop.end_of_files()
        loop.end(self._first_step)
        self._deliver(wait=True)
        for record in late_records(loop.step, self._last):
            self._sink(record)

    def _fail(self, error: Exception) -> None:
        """Give up watching: our own code failed, the user's training must go on.

        The taps stay in place, silent, until `detach`: torch may be iterating over its
        hooks right now.
        """
        if self._failure is None:
            self._failure = error
            self._listener.silence()
            msg = (
                f"ftlab stopped watching at step {self.step}, by an error of its own: "
                f"{type(error).__name__}: {error}. Training goes on."
            )
            warnings.warn(msg, FtlabWarning, stacklevel=2)
