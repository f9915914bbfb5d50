"""One watched run: the recorder on the live objects, and the background behind it.

`Watch` owns observations: one for a hand-written loop, one for each ``train()`` of a
trainer. An observation begins attached and ends once, whichever of the user, the
trainer, an exception or the death of the model ends it first.
"""

import atexit
import itertools
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from ftlab.probes.budget import Budget
from ftlab.probes.facts import facts_signature, read_facts
from ftlab.probes.probe import Probe
from ftlab.probes.recorder import Recorder
from ftlab.probes.subject import Subject
from ftlab.records.by_id import ById
from ftlab.records.errors import AttachError
from ftlab.records.finding import NotChecked
from ftlab.records.step import StepRecord
from ftlab.records.unbroken import unbroken
from ftlab.rules.engine import Engine
from ftlab.runlog.folder import create_default, rank_folder
from ftlab.runlog.run import Run
from ftlab.runlog.writer import LogWriter
from ftlab.session.background import Background

FACTS_INTERVAL = 8
"""Steps between two looks for changed settings that nothing has told of, or more: none
is taken in light steps."""

_observed: ById[torch.nn.Module, "Observation"] = ById()


@dataclass(frozen=True, slots=True)
class Plan:
    """How to observe: what `ftlab.watch` was asked for.

    Attributes
    ----------
    run_dir
        Folder of the log, or ``None`` for ``runs/<date>-<time>-<n>``.
    interval
        Steps between two measurements of what is costly.
    probes
        What is measured.
    budget
        Share of the training thread's time that this may take; ``None`` for any.
    keeper
        Makes what saves checkpoints: `ftlab.session.checkpointing.Keeper`.
    """

    run_dir: Path | None
    interval: int
    probes: tuple[Probe, ...]
    budget: float | None = None
    keeper: "Callable[[Observation], Any]" = lambda _: None

    def next(self) -> "Plan":
        """Return the plan of the next run: its folder is the first free ``-<n>``."""
        if self.run_dir is None:
            return self
        name = self.run_dir.name
        folders = (self.run_dir.with_name(f"{name}-{n}") for n in itertools.count(2))
        free = next(folder for folder in folders if not os.path.lexists(folder))
        return replace(self, run_dir=free)


class Observation:
    """A run under way.

    Parameters
    ----------
    subject
        What is watched.
    run
        Where views and rules read; empty so far.
    plan
        Where the log goes and what is measured.
    first_step
        Number of the first step; above 0 when training resumed from a checkpoint.
    """

    def __init__(
        self, subject: Subject, plan: Plan, run: Run, *, first_step: int = 0
    ) -> None:
        refuse_second(subject.model)
        self.subject = subject
        self.ended: str | None = None
        config = {
            "interval": plan.interval,
            "budget": plan.budget,
            "probes": [p.name for p in plan.probes],
        }
        create = partial(LogWriter.create, rank=run.rank, config=config)
        writer = create(plan.run_dir) if plan.run_dir else create_default(create)
        for probe in plan.probes:
            writer.declare(probe.table, probe.columns)
        self.run = run
        self.run.keep_in(writer.path, writer.meta)
        self.background = Background(self.run, writer, Engine())
        self._signature: Any = None
        self._stamp: Any = None
        self._looked = first_step
        self._stopping = threading.Lock()
        self._stopped = False
        self.latest: StepRecord | None = None
        self.recorder = Recorder(
            subject,
            plan.probes,
            self._receive,
            first_step=first_step,
            budget=Budget(plan.budget),
        )
        self.keeper = plan.keeper(self)
        self.recorder.prompt = self.keeper is not None

    def start(self) -> "Observation":
        """Attach to the live objects and begin to log."""
        with unbroken():
            try:
                self._read_facts(self.recorder.step)
                self.background.start()
                self.recorder.attach()
                if self.keeper is not None:
                    self.keeper.attach()
            except BaseException:
                self._stop("failed to attach")
                raise
            _observed[self.subject.model] = self
            atexit.register(self.stop, "the process ended")
        return self

    @property
    def not_checked(self) -> Sequence[NotChecked]:
        """Rules that could not decide so far, and what to record for them."""
        return self.background.not_checked

    def tell_cost(self) -> None:
        """Write into the run, and what is kept of it, how often was measured."""
        measured = {"measured": self.recorder.measured}
        self.run.update_meta(measured)
        if self.background.writer is not None:
            self.background.writer.meta.update(measured)

    def stop(self, ended: str) -> None:
        """Detach, write what is left and close the log.

        Only the first call counts; another one finishes what it has left.
        """
        if self._stopped or not self._stopping.acquire(blocking=False):
            return
        try:
            with unbroken():
                self._stop(ended)
        finally:
            self._stopping.release()

    def _stop(self, ended: str) -> None:
        self.ended = ended = self.ended or ended
        atexit.unregister(self.stop)
        try:
            self.recorder.detach()
            self.tell_cost()
            if self.keeper is not None:
                self.keeper.detach(ended)
        finally:
            self.background.stop(ended)
            for model, observation in tuple(_observed.items()):
                if observation is self:
                    del _observed[model]
        self._stopped = True

    def _receive(self, record: Any) -> None:
        if isinstance(record, StepRecord):
            self.latest = record
            stamp = self.recorder.stamp, self.subject.stamp
            due = record.step >= self._looked + FACTS_INTERVAL
            due = stamp != self._stamp or (due and "light" not in record.values)
            if due and not self.recorder.more:  # what is read is of now
                self._stamp, self._looked = stamp, record.step
                self._read_facts(record.step)
        self.background.put(record)

    def _read_facts(self, step: int) -> None:
        try:
            signature = facts_signature(self.subject)
        except AttachError:  # the model is gone; its last step is still to be logged
            return
        if signature != self._signature:
            self._signature = signature
            self.background.put(read_facts(self.subject, step))


def refuse_second(model: torch.nn.Module) -> None:
    """Raise when ``model`` is watched already."""
    other = _observed.get(model)
    if other is not None and other.ended is None:
        msg = (
            f"This {type(model).__name__} is already watched (log: {other.run.path}). "
            "Call detach() on that watch first, or use it: one watch records "
            "everything."
        )
        raise AttachError(msg)


def observation_of(model: torch.nn.Module) -> Observation | None:
    """Return what watches ``model`` now, if anything does."""
    found = _observed.get(model)
    return None if found is None or found.ended is not None else found


def folder_of(model: torch.nn.Module) -> Path | None:
    """Return the rank's folder of the run that ``model`` is watched in, if it is."""
    found = _observed.get(model)
    path = None if found is None else found.run.path
    return None if found is None or path is None else rank_folder(path, found.run.rank)


def run_of(model: torch.nn.Module) -> Run | None:
    """Return the run that ``model`` is watched in, if it is."""
    found = _observed.get(model)
    return None if found is None else found.run


def is_watched(model: torch.nn.Module) -> bool:
    """Tell whether ``model``, a part of it or what holds it is being watched."""
    live = [each for each, by in _observed.items() if by.ended is None]
    parts = set(model.modules())
    return any(each in parts or model in set(each.modules()) for each in live)


def ended_by(error: BaseException | None) -> str:
    """Say in the words of ``run.json`` how a run ended."""
    if error is None:
        return "finished"
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    return f"failed: {type(error).__name__}: {error}"
