"""The thread that trains, and how it waits for and obeys the thread that watches.

Who calls whom: the caller's thread uses `start`, `wait` and `send`; the training thread
uses `pause` and asks `pause_requested` and `raise_if_aborted`. A listener is called in
whichever thread changed the state, never with the lock held.
"""

import contextlib
import threading
import warnings
from collections.abc import Callable
from typing import Any, Literal, Protocol

from ftlab.records.errors import FtlabWarning, NotPausedError
from ftlab.records.handle import CallbackHandle, Handle
from ftlab.replay.capsules.context import ThreadContext
from ftlab.replay.control import Abort, Command
from ftlab.replay.interrupts import on_interrupt

State = Literal["new", "running", "paused", "finished", "failed", "aborted"]

_REMEDY = {
    "new": "call run() first",
    "running": "wait() returns at the next stop",
    "finished": "the run is over; call run() for another one",
    "failed": "the run is over; call run() for another one",
    "aborted": "the run is over; call run() for another one",
}


class OutputRouter(Protocol):
    """Sends the training thread's prints to the cell that gave the last command."""

    def calling_cell(self) -> Any:
        """Name the cell that the calling thread serves, or ``None``."""

    def route_output(self, cell: Any) -> None:
        """Send what the calling thread prints to ``cell``; ``None`` changes nothing."""


class Worker:
    """Runs one function at a time on a thread that can be paused.

    Parameters
    ----------
    router
        Returns the output router of the moment.

    Attributes
    ----------
    state
        ``new``, ``running``, ``paused``, ``finished``, ``failed`` or ``aborted``.
    stop
        What the run is paused at.
    result
        What the function returned.
    """

    def __init__(self, router: Callable[[], OutputRouter]) -> None:
        self.state: State = "new"
        self.stop: Any = None
        self.result: Any = None
        self.error: BaseException | None = None
        self._router = router
        self._cell: Any = None
        self._changed = threading.Condition()
        self._command = Command("resume")
        self._interrupts = 0
        self._abort = False
        self._listeners: list[Callable[[], None]] = []
        self._thread: threading.Thread | None = None

    # -- the caller's thread

    def start(self, function: Callable[[], Any]) -> None:
        """Begin to run ``function`` on the training thread."""
        if self.alive:
            state = self.state
            msg = f"The run is {state}; resume() or abort() it before run() again."
            raise NotPausedError(msg)
        context = ThreadContext.of_caller()
        self._cell = self._router().calling_cell()
        self.result, self.error, self.stop = None, None, None
        self._interrupts, self._abort = 0, False
        self._thread = threading.Thread(
            target=context.run,
            args=(lambda: self._run(function),),
            name="ftlab-train",
            daemon=True,
        )
        self._set_state("running")
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether a run is under way."""
        return self.state in ("running", "paused")

    @property
    def current(self) -> bool:
        """Whether the calling thread is the training thread."""
        return threading.current_thread() is self._thread

    def wait(self) -> None:
        """Block until the run stops or ends, and raise what it failed with.

        The first KeyboardInterrupt asks for a pause, the second aborts, a third is
        raised here and leaves the thread to end by itself.

        Raises
        ------
        NotPausedError
            When the training thread itself calls it, which would wait for ever.
        """
        if self.current and self.alive:
            msg = (
                "wait() was called within the run that it waits for. Give commands "
                "from outside the step, or decide with on_pause=."
            )
            raise NotPausedError(msg)
        with self.interruptible():
            self._wait()
        if self.state == "failed" and self.error is not None:
            raise self.error

    def interruptible(self) -> contextlib.AbstractContextManager[None]:
        """Count interrupts of the calling thread within a ``with`` block.

        A command and the `wait` for what it does belong into one block: an interrupt
        between the two would be lost on the run.
        """
        return on_interrupt(self._interrupt)

    def _interrupt(self) -> None:
        self._interrupts += 1
        self._abort = self._abort or self._interrupts == 2
        if self._interrupts > 2:
            raise KeyboardInterrupt

    def _wait(self) -> None:
        with self._changed:
            while self.state == "running":
                # A wait without an end would not let an interrupt in everywhere.
                self._changed.wait(0.2)
        if not self.alive and self._thread is not None and not self.current:
            self._thread.join(5)

    def send(self, command: Command) -> None:
        """Hand a command to the paused run and return at once."""
        with self._changed:
            if self.state != "paused":
                remedy = _REMEDY[self.state]
                msg = f"{command.verb}: the run is {self.state}, not paused; {remedy}."
                raise NotPausedError(msg)
            cell = self._router().calling_cell()
            self._cell = self._cell if cell is None else cell
            self._command, self._interrupts = command, 0
            self.state = "running"
            self._changed.notify_all()
        self._notify()

    def request_pause(self) -> None:
        """Pause at the next stopping point, as a KeyboardInterrupt does."""
        self._interrupts = max(self._interrupts, 1)

    def close(self, timeout: float = 30.0) -> None:
        """End the run at its next stopping point and wait for that.

        Called within the step it only asks for the end.
        """
        thread = self._thread
        if thread is None or not self.alive:
            return
        with self._changed:
            self._abort = True
            self._changed.notify_all()
        if self.current:
            return
        thread.join(timeout)
        if thread.is_alive():
            msg = (
                f"The training thread is still busy after {timeout:.0f} s; it ends "
                "after its current step."
            )
            warnings.warn(msg, FtlabWarning, stacklevel=3)

    def subscribe(self, listener: Callable[[], None]) -> Handle:
        """Call ``listener`` after each change of state until the handle is removed."""
        self._listeners.append(listener)
        return CallbackHandle(lambda: self._listeners.remove(listener))

    # -- the training thread

    @property
    def pause_requested(self) -> bool:
        """Whether the caller was interrupted and waits for a stop."""
        return self._interrupts > 0

    def forget_interrupt(self) -> None:
        """Take the wish for a pause as fulfilled."""
        self._interrupts = 0

    def raise_if_aborted(self) -> None:
        """Unwind the training if the caller gave it up."""
        if self._abort:
            raise Abort

    def pause(self, stop: Any) -> Command:
        """Wait at ``stop`` until the caller sends a command, and return it."""
        self.raise_if_aborted()
        with self._changed:
            self.stop, self.state, self._interrupts = stop, "paused", 0
            self._changed.notify_all()
        self._notify()
        with self._changed:
            self._changed.wait_for(lambda: self.state != "paused" or self._abort)
            self.stop, self.state = None, "running"
        self._router().route_output(self._cell)
        self.raise_if_aborted()
        return self._command

    def _run(self, function: Callable[[], Any]) -> None:
        self._router().route_output(self._cell)
        end: State = "finished"
        try:
            self.result = function()
        except Abort:
            end = "aborted"
        except BaseException as error:  # noqa: BLE001  raised again in the caller
            self.error, end = error, "failed"
        self._set_state(end)

    def _set_state(self, state: State) -> None:
        with self._changed:
            self.state = state
            self._changed.notify_all()
        self._notify()

    def _notify(self) -> None:
        for listener in tuple(self._listeners):
            try:
                listener()
            except Exception as error:  # noqa: BLE001  a panel must never stop a run
                self._listeners.remove(listener)
                msg = (
                    f"A listener of the debugger failed with {type(error).__name__}: "
                    f"{error}. It is not called again."
                )
                warnings.warn(msg, FtlabWarning, stacklevel=2)
