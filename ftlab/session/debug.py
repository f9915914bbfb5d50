"""`ftlab.debug`: stop a live run where its numbers break, before the weights change.

Who calls whom: `Debugger.run` starts the training on a `Worker`'s thread; there the
`Engine` guards each call of the re-callable step and pauses in it. The caller's
commands go to the worker and come back with a report at the next stop. The engine takes
any step function; what is special to trainers is in `integrations.trainer_step`.
"""

import functools
import types
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._pytree import tree_map_only

from ftlab.records.errors import AttachError, BadValueError, NotReplayableError
from ftlab.records.handle import Handle, HandleStack
from ftlab.replay.control import Command
from ftlab.replay.engine import Engine, Policy, no_way_back, warn_unpaused
from ftlab.replay.report import PauseReport
from ftlab.replay.stop import Stop
from ftlab.replay.worker import State, Worker
from ftlab.session.host import host
from ftlab.session.integrations.trainer_step import (
    TrainerStep,
    is_trainer,
    refuse_trainer,
)

if TYPE_CHECKING:
    from ftlab.views.pause_panel import PausePanel


class Debugger:
    """A run that can be stopped; made by `debug`.

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
    """

    def __init__(
        self,
        train: Callable[..., Any],
        engine: Engine,
        worker: Worker,
        install: Callable[[], Handle] | None = None,
    ) -> None:
        self._train = train
        self._engine = engine
        self._worker = worker
        self._install = install
        self._handles = HandleStack()
        self._panel: PausePanel | None = None
        if install is not None:
            self._handles.add(install())

    # -- commands

    def run(self, **kwargs: Any) -> PauseReport:
        """Start training and return at the first anomaly, or at the end.

        Keyword arguments go to ``trainer.train``. What it returns becomes `result`;
        what it raises is raised here.
        """
        self.start(**kwargs)
        return self.wait()

    def start(self, **kwargs: Any) -> None:
        """Start training and return at once; `wait` blocks until the next stop."""
        self._worker.start(functools.partial(self._run, kwargs))

    def wait(self) -> PauseReport:
        """Block until the run is paused or over."""
        self._worker.wait()
        return self.where

    def resume(self) -> PauseReport:
        """Let training go on with the step as it is, to the next anomaly or the end."""
        return self._send(Command("resume"))

    def abort(self) -> PauseReport:
        """End the run; the step that is under way leaves no trace in the weights."""
        return self._send(Command("abort"))

    def step(self, to: str = "op", count: int = 1) -> PauseReport:
        """Go on by ``count`` operations, or to the next module (``to="module"``).

        Behind the last operation comes a stop at the end of the micro-batch, and behind
        that the first operation of the next one.
        """
        return self._send(Command.move("step", to, count))

    def back(self, to: str = "op", count: int = 1) -> PauseReport:
        """Go back by ``count`` operations, or to the module before (``to="module"``).

        The step is rewound to its start and executed again up to there.

        Raises
        ------
        NotReplayableError
            When the weights have changed already.
        """
        command = Command.move("back", to, count)
        stop = self._stop
        if stop is not None and not stop.report.replayable:
            raise NotReplayableError(no_way_back(stop.report))
        return self._send(command)

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
        self._worker.close()
        self._handles.remove()

    def subscribe(self, listener: Callable[[], None]) -> Handle:
        """Call ``listener`` after each change of `state`, from any thread."""
        return self._worker.subscribe(listener)

    # -- what can be seen

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
    def tensor(self) -> torch.Tensor | None:
        """A copy of the operation's output; ``None`` when not at an operation."""
        return None if self._stop is None else self._stop.tensor

    @property
    def inputs(self) -> tuple[torch.Tensor, ...]:
        """Copies of the operation's input tensors."""
        return () if self._stop is None else self._stop.inputs

    @property
    def batch(self) -> Any:
        """What the step was called with; ``None`` when not paused."""
        return None if self._stop is None else self._stop.batch

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
        from ftlab.views.pause_panel import PausePanel

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

    def _send(self, command: Command) -> PauseReport:
        self._worker.send(command)
        return self.wait()

    def _run(self, kwargs: dict[str, Any]) -> Any:
        """Train; on the training thread, so that clean-up needs nobody to wait."""
        try:
            if self._install is not None and len(self._handles) == 0:
                self._handles.add(self._install())
            self._handles.add(self._engine.attach())
            return self._train(**kwargs)
        finally:
            self._handles.remove()


def debug(
    target: Any,
    batches: Iterable[Any] | None = None,
    *,
    model: torch.nn.Module | None = None,
    optimizer: Any = None,
    on_pause: Policy | None = None,
) -> Debugger:
    """Prepare a run that stops at the first non-finite loss or gradient.

    Parameters
    ----------
    target
        A transformers Trainer (TRL's too), or a function that is called with each batch
        and does one step: forward and backward, with or without ``optimizer.step()``.
        When the step goes wrong it is called again with the same batch, so what else it
        does (appending to a list) happens again too.
    batches
        What the function is called with, one after the other.
    model, optimizer
        What the function trains, and with what.
    on_pause
        Decides at each stop without a person: gets the `PauseReport`, returns
        ``"resume"``, ``"abort"``, ``"step module"``... or ``None`` to resume.

    Returns
    -------
    Debugger
        Call ``run()`` on it.

    Examples
    --------
    >>> import torch
    >>> from ftlab.session.debug import debug
    >>> model = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> def step(batch):
    ...     optimizer.zero_grad()
    ...     loss = model(batch).log().sum()
    ...     loss.backward()
    ...     optimizer.step()
    >>> _ = torch.nn.init.ones_(model.weight)
    >>> batches = [torch.full((1, 2), -9.0)]
    >>> with debug(step, batches, model=model, optimizer=optimizer) as dbg:
    ...     report = dbg.run()
    >>> report.op, report.kind, report.what
    ('aten.log.default', 'outside modules', 'nan')

    A function alone says not what it trains:

    >>> debug(step, [])
    Traceback (most recent call last):
    ...
    ftlab.records.errors.AttachError: debug(step, batches) needs model=, the \
torch.nn.Module that the step trains; it was None.
    """
    if is_trainer(target):
        if batches is not None or model is not None or optimizer is not None:
            msg = (
                "debug(trainer) finds batches, model and optimizer by itself; pass "
                "only the trainer, and arguments of train() to run()."
            )
            raise BadValueError(msg)
        return _debug_trainer(target, on_pause)
    trained = _check_step(target, batches, model)
    _check_optimizers(optimizer)
    worker = Worker(host)
    engine = Engine(lambda: trained, worker, policy=on_pause)
    guarded = engine.guard(target)

    def train() -> list[Any]:
        # Results are kept detached: a graph for each batch would fill the memory.
        return [_detached(guarded(batch)) for batch in batches or ()]

    return Debugger(train, engine, worker)


def _debug_trainer(trainer: Any, policy: Policy | None) -> Debugger:
    refuse_trainer(trainer)
    worker = Worker(host)
    engine = Engine(
        lambda: trainer.model,
        worker,
        owner=trainer,
        step_number=lambda: trainer.state.global_step,
        policy=policy,
    )
    link = TrainerStep(trainer, engine.guard, lambda: worker.current, warn_unpaused)
    return Debugger(lambda **kw: trainer.train(**kw), engine, worker, link.install)


def _check_step(target: Any, batches: Any, model: Any) -> torch.nn.Module:
    if not callable(target) or isinstance(target, torch.nn.Module):
        msg = (
            f"debug() was given a {type(target).__name__}; pass a transformers.Trainer "
            "or a function that does one training step: "
            "debug(step, batches, model=model)."
        )
        raise AttachError(msg)
    if not isinstance(model, torch.nn.Module):
        msg = (
            "debug(step, batches) needs model=, the torch.nn.Module that the step "
            f"trains; it was {model!r}."
        )
        raise AttachError(msg)
    if not isinstance(batches, Iterable):
        msg = (
            "debug(step, batches) needs batches, an iterable that the step is called "
            f"with; it was {batches!r}."
        )
        raise AttachError(msg)
    return model


def _check_optimizers(optimizer: Any) -> None:
    given = optimizer if isinstance(optimizer, list | tuple) else [optimizer]
    for each in given:
        inner = getattr(each, "optimizer", each)  # accelerate wraps optimizers
        if inner is not None and not isinstance(inner, torch.optim.Optimizer):
            msg = (
                f"optimizer={type(each).__name__} is no torch.optim.Optimizer, so "
                "nothing tells when it is about to change the weights. Leave it out of "
                "the step: let the step end with backward."
            )
            raise AttachError(msg)


def _detached(result: Any) -> Any:
    return tree_map_only(torch.Tensor, torch.Tensor.detach, result)
