"""`ftlab.open_snapshot`: a stop of another process, and the step that led to it.

`Debugger.snapshot` writes the folder. Nothing in it is executed: it holds JSON and
safetensors.
"""

from pathlib import Path
from typing import Any

import torch

from ftlab.records.errors import AttachError, BadValueError
from ftlab.records.plain_files import path_of
from ftlab.replay.engine import Engine
from ftlab.replay.snapshots.load import Restorer, Stored, reading
from ftlab.replay.snapshots.report import unpack_report
from ftlab.replay.stops.report import PauseReport
from ftlab.replay.wishes import MEMORY_BUDGET, Wishes
from ftlab.replay.worker import Worker
from ftlab.rules.words import an
from ftlab.session.debugging.debugger import Debugger
from ftlab.session.debugging.shown import shown, shown_tensor
from ftlab.session.debugging.snapshot_steps import (
    Step,
    argument_of,
    model_step,
    modes_of,
    update_step,
)
from ftlab.session.host import host


def open_snapshot(path: str | Path) -> "Snapshot":
    """Open what `Debugger.snapshot` wrote.

    Parameters
    ----------
    path
        The folder.

    Returns
    -------
    Snapshot
        Shows the stop; ``debug(model)`` goes there.

    Raises
    ------
    RunFolderError
        When there is no snapshot at ``path``, or a damaged one.
    BadValueError
        When ``path`` is no path.

    Examples
    --------
    >>> import tempfile, torch
    >>> from ftlab.session.debugging.debug import debug
    >>> from ftlab.session.debugging.snapshots import open_snapshot
    >>> def step(batch):
    ...     model(batch["x"]).log().sum().backward()
    >>> model = torch.nn.Linear(2, 1)
    >>> batches = [{"x": torch.full((1, 2), -9.0)}]
    >>> _ = torch.nn.init.ones_(model.weight)
    >>> with debug(step, batches, model=model) as dbg:
    ...     _ = dbg.run()
    ...     folder = dbg.snapshot(tempfile.mkdtemp() + "/nan")
    >>> model = torch.nn.Linear(2, 1)
    >>> with open_snapshot(folder).debug(model, step) as dbg:
    ...     dbg.run().op
    'aten.log.default'
    >>> open_snapshot("nowhere")
    Traceback (most recent call last):
    ...
    ftlab.records.errors.RunFolderError: 'nowhere' is not a snapshot: it is no folder. \
Pass the folder that dbg.snapshot() returned, for instance \
open_snapshot('snapshots/step-000173').
    """
    stored = Stored(path_of(path, "path", "open_snapshot('snapshots/step-000173')"))
    stored.check()
    with reading(stored.path):
        return Snapshot(stored)


class Snapshot:
    """A stop that was written to disk; made by `open_snapshot`.

    Parameters
    ----------
    stored
        Its files.

    Attributes
    ----------
    path
        The folder.
    report
        What the debugger said at the stop.
    """

    def __init__(self, stored: Stored) -> None:
        self._stored = stored
        self.path = stored.path
        self.report: PauseReport = unpack_report(stored.manifest["report"])
        for name in ("step", "update"):
            if not isinstance(stored.manifest[name], dict | None):
                msg = f"{name!r} is not an object"
                raise TypeError(msg)
        self._in_update = stored.manifest["update"] is not None
        self._text = self._outline()

    @property
    def tensor(self) -> torch.Tensor | None:
        """The anomalous tensor; ``None`` when the stop was at no operation."""
        with reading(self.path):
            return shown_tensor(self._unpack("stop", self._stored.manifest["tensor"]))

    @property
    def batch(self) -> Any:
        """What the step was called with; ``None`` between two calls."""
        step = self._stored.manifest["step"]
        with reading(self.path):
            return None if step is None else shown(self._unpack("batch", step["batch"]))

    @property
    def tokens(self) -> dict[int, str]:
        """The text of each token id of the batch, where a tokenizer was known."""
        with reading(self.path):
            found = self._stored.manifest["tokens"].items()
            return {int(token): str(text) for token, text in found}

    def debug(
        self,
        model: torch.nn.Module,
        step: Step | None = None,
        optimizer: Any = None,
        *,
        memory_budget: int = MEMORY_BUDGET,
    ) -> Debugger:
        """Prepare the step that stopped, with ``model`` where the run's model was.

        ``model`` and ``optimizer`` get the weights and the state of the run, now and at
        each ``run()``.

        Parameters
        ----------
        model
            Built as in the run: the same base model with the same adapters.
        step
            Called with the batch. Without it the model is called as in the run and
            ``loss.backward()`` follows; at a stop within an optimizer's step that step
            alone is made.
        optimizer
            Built as in the run, or a list of them. A snapshot of a stop within an
            optimizer's step needs it.
        memory_budget
            See `ftlab.debug`.

        Returns
        -------
        Debugger
            Call ``run()`` on it: it stops where the run stopped.

        Raises
        ------
        AttachError
            When the model or the optimizer is not the one of the run.
        BadValueError
            When there is no step to make without ``step``.
        """
        optimizers = _check(model, optimizer)
        update = step is None and self._in_update
        if update:
            function = update_step(self._stored, model, optimizers)
        else:
            function = model_step(self._stored, model) if step is None else step
        if not update and self._stored.manifest["step"] is None:
            msg = (
                "This stop was within an optimizer step, between two calls of the "
                "training step. Omit step and pass optimizer=."
            )
            raise BadValueError(msg)
        restorer = Restorer(self._stored, model, function, optimizers, update=update)
        restorer.load()
        return self._debugger(model, function, optimizers, restorer, memory_budget)

    def __repr__(self) -> str:
        return self._text

    # -- the step

    def _debugger(
        self,
        model: torch.nn.Module,
        function: Step,
        optimizers: list[torch.optim.Optimizer],
        restorer: Restorer,
        budget: int,
    ) -> Debugger:
        worker = Worker(host)
        engine = Engine(
            lambda: model,
            worker,
            step_number=lambda: self.report.step,
            optimizers=optimizers,
            decode=self._decode if self.tokens else None,
            wishes=Wishes(budget=budget),
        )
        guarded = engine.guard(function)

        def train() -> Any:
            engine.count()
            engine.micro_batch = self.report.micro_batch
            batch = argument_of(self._stored, model)
            with modes_of(self._stored):
                restorer.restore()
                return guarded(batch)

        return Debugger(train, engine, worker, name=f"snapshot {self.path}")

    # -- text

    def _decode(self, ids: list[int]) -> str:
        texts = self.tokens
        return "".join(texts.get(token, "") for token in ids)

    def _unpack(self, section: str, packed: Any) -> Any:
        return self._stored.unpacker(section).unpack(packed)

    def _outline(self) -> str:
        manifest = self._stored.manifest
        weights = manifest["weights"]["parameters"]
        written = sum("value" in entry for entry in weights)
        optimizers = ", ".join(entry["class"] for entry in manifest["optimizers"])
        rows = [
            f"Snapshot {str(self.path)!r}",
            f"  weights   {written} of {len(weights)} written, the others by checksum",
            f"  optimizer {optimizers or 'none'}",
            f"  next      debug(model) makes this step again, in {self._model_words()}",
        ]
        return "\n".join([*rows, repr(self.report)])

    def _model_words(self) -> str:
        return an(str(self._stored.manifest["model"]["class"]))


def _check(model: Any, optimizer: Any) -> list[torch.optim.Optimizer]:
    if not isinstance(model, torch.nn.Module):
        msg = (
            f"debug() was given {an(type(model).__name__)}; pass the torch.nn.Module, "
            "built as in the run."
        )
        raise AttachError(msg)
    given = optimizer if isinstance(optimizer, list | tuple) else [optimizer]
    inner = [getattr(each, "optimizer", each) for each in given if each is not None]
    found: list[Any] = inner
    for each in found:
        if not isinstance(each, torch.optim.Optimizer):
            msg = f"optimizer={each!r} is not a torch.optim.Optimizer."
            raise AttachError(msg)
    return found
