"""A debugged run, as its user holds it: commands to it, and what can be seen of it.

Who calls whom: `Debugger.run` starts the training on a `Worker`'s thread; there the
`Engine` guards each call of the re-callable step and pauses in it. The caller's
commands go to the worker and come back with a report at the next stop.
"""

import functools
import types
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ftlab.records.errors import NotPausedError
from ftlab.records.event import Event
from ftlab.records.handle import Handle, HandleStack
from ftlab.records.unbroken import unbroken
from ftlab.replay.control import Command
from ftlab.replay.engine import Engine
from ftlab.replay.stops.report import PauseReport
from ftlab.replay.stops.stop import Stop
from ftlab.replay.worker import State, Worker
from ftlab.session.debugging.breaking import Breaking
from ftlab.session.debugging.looking import Looking
from ftlab.session.debugging.moving import Moving
from ftlab.session.debugging.responding import Responding, connect
from ftlab.session.debugging.snapshot_taking import take_snapshot
from ftlab.session.debugging.traces import TraceKeeper
from ftlab.session.debugging.what_if import WhatIf

if TYPE_CHECKING:
    from ftlab.views.pausing.blame import BlameView
    from ftlab.views.pausing.pause_panel import PausePanel


class Debugger(Breaking, Responding, Looking, Moving, WhatIf):
    """A run that can be stopped; made by `ftlab.debug`.

    Every command blocks until the next stop, or the end of the run, and returns a
    `PauseReport`. Use it as a context manager, or call `close` at the end.

    Parameters
    ----------
    train
        Runs the training; its keyword arguments are those of `run`.
    engine, worker
        See `ftlab.replay`.
    install
        Wraps the re-callable step for the length of a run, where that is needed.
    name
        What is debugged, for messages.

    Attributes
    ----------
    runs
        How often it was started.
    """

    _active: "ClassVar[Debugger | None]" = None

    def __init__(
        self,
        train: Callable[..., Any],
        engine: Engine,
        worker: Worker,
        install: Callable[[], Handle] | None = None,
        *,
        name: str = "a run",
    ) -> None:
        self.name = name
        self.runs = 0
        self._train = train
        self._engine = engine
        self._worker = worker
        self._install = install
        self._handles = HandleStack()
        self._panel: PausePanel | None = None
        self._events: list[Event] = []
        engine.wishes.on_stop = TraceKeeper(lambda: engine.moment().model)
        connect(engine, self._events, lambda: self._model)
        if install is not None:
            self._handles.add(install())

    # -- commands

    def run(self, **kwargs: Any) -> PauseReport:
        """Start training and return at the first anomaly, or at the end.

        Keyword arguments go to ``trainer.train``. What it returns becomes `result`;
        what it raises is raised here.
        """
        with self._worker.interruptible():
            self.start(**kwargs)
            return self.wait()

    def start(self, **kwargs: Any) -> None:
        """Start training and return at once; `wait` blocks until the next stop.

        Raises
        ------
        NotPausedError
            When this run, or that of another debugger, is under way.
        """
        other = Debugger._active
        if other is not None and other is not self:
            raise NotPausedError(_in_the_way(other, self.name))
        with unbroken():
            Debugger._active = self
            try:
                self._worker.start(functools.partial(self._run, kwargs))
            except BaseException:
                Debugger._active = other
                raise

    @staticmethod
    def active() -> "Debugger | None":
        """Return the debugger whose run is under way, ``None`` if there is none.

        There can only be one: both would wait in, and rewind, the same process.
        """
        return Debugger._active

    def wait(self) -> PauseReport:
        """Block until the run is paused or over."""
        self._worker.wait()
        return self.where

    def resume(self, *, with_patch: bool = False) -> PauseReport:
        """Let training go on, to the next anomaly or the end.

        Parameters
        ----------
        with_patch
            Take the step as it was tried last, by `patch` or its like, instead of as it
            is.

        Raises
        ------
        BadValueError
            When nothing was tried at this stop.
        """
        return self._send(self.commands.resume(with_patch=with_patch))

    def abort(self) -> PauseReport:
        """End the run; the step that is under way leaves no trace in the weights."""
        return self._send(Command("abort"))

    def snapshot(
        self, path: str | Path | None = None, *, weights: str = "trainable"
    ) -> Path:
        """Write all that makes this step again in another process; return the folder.

        Parameters
        ----------
        path
            A new folder; by default ``snapshots/step-000173``, in the folder of the run
            when ``ftlab.watch`` logs this model.
        weights
            ``"trainable"`` leaves frozen weights out and keeps a checksum of each;
            ``"all"`` writes them too.

        Raises
        ------
        NotPausedError
            When the run is not at a stop.
        RunFolderError
            When the folder exists or cannot be written.
        """
        return take_snapshot(self._stop, self._engine, self.state, path, weights)

    def blame(self) -> "BlameView":
        """Return the loss of each sample and token, and each sample's gradient norm.

        The step is executed once more, with one backward for each sample, and comes
        back to the same stop; the run goes on as if nothing had happened. Works where
        everything is finite too: `interrupt` the run first.

        Raises
        ------
        NotReplayableError
            When the step cannot run again, or computes no loss over tokens.
        """
        from ftlab.session.debugging.blame import blame

        return blame(self.commands, self._send, self.state)

    def send(self, command: str | Command) -> None:
        """Send ``"resume"``, ``"abort"``, ``"step module"``... and return at once.

        This is what buttons call.
        """
        self._worker.send(Command.parse(command))

    def interrupt(self) -> None:
        """Ask the run to pause at the end of the micro-batch; return at once."""
        self._worker.request_pause()

    def close(self) -> None:
        """End the run if there is one and take everything off; may be called again."""
        try:
            self._worker.close()
        finally:
            with unbroken():
                self._handles.remove()

    def subscribe(self, listener: Callable[[], None]) -> Handle:
        """Call ``listener`` after each change of `state`, from any thread."""
        return self._worker.subscribe(listener)

    # -- what can be seen

    @property
    def training_here(self) -> bool:
        """Whether the calling thread is the one that trains."""
        return self._worker.current

    @property
    def state(self) -> State:
        """``new``, ``running``, ``paused``, ``finished``, ``failed`` or ``aborted``."""
        return self._worker.state

    @property
    def where(self) -> PauseReport:
        """The report of the current stop, or how the run stands."""
        stop = self._stop
        if stop is not None:
            return stop.report
        return PauseReport(state=self.state, step=self._engine.count())

    @property
    def result(self) -> Any:
        """What ``trainer.train`` returned, or the list of the step's results."""
        return self._worker.result

    def __enter__(self) -> "Debugger":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.state == "new":
            return "Debugger(new): run() starts the training."
        return repr(self.where)

    @property
    def panel(self) -> "PausePanel":
        """The stop in a notebook, with buttons; follows the run while it is shown."""
        from ftlab.views.pausing.pause_panel import PausePanel

        if self._panel is None:
            self._panel = PausePanel(self)
        return self._panel

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Show the panel; the text stays the report."""
        data, metadata = self.panel._repr_mimebundle_(**options)
        return {**data, "text/plain": repr(self)}, metadata

    @property
    def _stop(self) -> Stop | None:
        return self._worker.stop

    @property
    def _model(self) -> Any:
        return getattr(self._engine.moment(), "model", None)

    def _send(self, command: Command) -> PauseReport:
        with self._worker.interruptible():
            self._worker.send(command)
            return self.wait()

    def _run(self, kwargs: dict[str, Any]) -> Any:
        """Train; on the training thread, so that clean-up needs nobody to wait."""
        self.runs += 1
        try:
            if self._install is not None and len(self._handles) == 0:
                self._handles.add(self._install())
            self._engine.wishes.forget()
            self._handles.add(self._engine.attach())
            return self._train(**kwargs)
        finally:
            self._handles.remove()
            self._engine.past.forget()
            Debugger._active = None


def _in_the_way(active: Debugger, name: str) -> str:
    if active.training_here:
        return (
            f"ftlab.debug of {name} was started within {active.name}, which is "
            "debugged already. Only one run can be: take the inner one out, or run "
            "the outer one without ftlab.debug."
        )
    return (
        f"Another debugger is active, of {active.name}: {active.where.headline()} Call "
        "close() on it first; if no variable holds it any more, "
        "`dbg.active().close()` on this one does."
    )
