"""With which seeds the loader of a training begins each of its epochs."""

import contextlib
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch.utils.data import DataLoader

from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.seeds.held_generators import held_states
from ftlab.probes.seeds.loader_reading import loader_start
from ftlab.probes.seeds.worker_reports import Reporting, reported
from ftlab.probes.subject import Subject
from ftlab.probes.taps.rebinding import rebind_method
from ftlab.records.event import Event
from ftlab.records.handle import CallbackHandle, Handle
from ftlab.records.loader_start import LoaderStart

STARTS = 64
"""Epochs of a run that are written down."""

PATIENCE = 8
"""Micro-batches within which all workers should have told how they began."""


@dataclass(frozen=True, slots=True)
class _Begun:
    """One ``iter(loader)`` of which no batch has been used so far."""

    start: LoaderStart
    folder: Path
    dataset: Any
    collate: Callable[[], Any]
    iterator: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class _Open:
    """One start of which not all is known so far.

    Attributes
    ----------
    patience
        Micro-batches that it is waited for before it is told.
    told
        What was said of it last.
    final
        What was known when the folder of the reports went.
    """

    start: LoaderStart
    folder: Path
    dataset: Callable[[], Any]
    collate: Callable[[], Any]
    patience: int = PATIENCE
    told: LoaderStart | None = None
    final: LoaderStart | None = None

    @property
    def waits(self) -> bool:
        """Whether the next micro-batch may bring something that is worth telling."""
        if self.told is None:
            return True
        return len(self.told.started) < self.start.workers and self.patience > 0

    def known(self) -> LoaderStart:
        """Read what its workers have told, or what the main process has drawn."""
        if self.final is not None:
            return self.final
        if self.start.workers:
            return replace(self.start, started=reported(self.folder))
        now = held_states(self.dataset(), self.collate())
        moved = (e.name for e in self.start.held if now.get(e.name, e.state) != e.state)
        return replace(self.start, drawn=tuple(moved))


class LoaderStarts(Probe):
    """Hear ``iter(loader)``, and what its workers say of themselves.

    The training's loader is the one that was begun last of those that somebody still
    reads when the first batch is used; later ones count where they are of its dataset.
    """

    name: ClassVar[str] = "loader_starts"

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._folder: Path | None = None
        self._waiting: list[_Begun] = []
        self._open: list[_Open] = []
        self._dataset: Callable[[], Any] | None = None
        self._step = -1
        self._micro_batch = 0
        self._count = 0

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Stand in for ``DataLoader.__iter__`` of all loaders."""
        self._begin()
        yield CallbackHandle(self._clear)
        yield rebind_method(DataLoader, "__iter__", self._hearing())

    def _clear(self) -> None:
        with contextlib.suppress(Exception):  # a report that cannot be read
            self._open = [replace(each, final=each.known()) for each in self._open]
        folder, self._folder = self._folder, None
        self._waiting, self._dataset = [], None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    def _hearing(self) -> Callable[..., Any]:
        def around(original: Callable[..., Any], loader: Any) -> Any:
            prepared = self._prepared(loader)
            if prepared is None:
                return original(loader)
            start, folder = prepared
            before = loader.worker_init_fn
            if start.workers:
                loader.worker_init_fn = Reporting(before, folder, loader.collate_fn)
            try:
                made = original(loader)
            finally:
                loader.worker_init_fn = before
            held = loader.dataset, _held(loader.collate_fn), _held(made)
            begun = _Begun(start, folder, *held)
            self._waiting = [*self._read_now(), begun]
            return made

        return around

    def _prepared(self, loader: Any) -> tuple[LoaderStart, Path] | None:
        """Read a loader; ``None`` for one that is not wanted, or cannot be read."""
        with contextlib.suppress(Exception):  # nothing of ours may end ``iter(loader)``
            if self._is_wanted(loader):
                return loader_start(loader), self._new_folder()
        return None

    def _read_now(self) -> list[_Begun]:
        return [each for each in self._waiting if each.iterator() is not None]

    def _is_wanted(self, loader: Any) -> bool:
        """Tell whether it may be the training's, and is not heard already."""
        known = None if self._dataset is None else self._dataset()
        ours = known is None or loader.dataset is known
        heard = isinstance(loader.worker_init_fn, Reporting)  # a subclass calls up
        return ours and not heard and self._count < STARTS

    def _new_folder(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="ftlab-workers-"))
        return Path(tempfile.mkdtemp(dir=self._folder))

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Take the loader that was begun for the training's, and ask its workers."""
        self._micro_batch = 0 if moment.step != self._step else self._micro_batch + 1
        self._step = moment.step
        waiting, self._waiting = self._read_now(), []
        for begun in waiting[-1:]:
            self._count += 1
            self._dataset = _held(begun.dataset)
            start = replace(
                begun.start, step=moment.step, micro_batch=self._micro_batch
            )
            self._open.append(_Open(start, begun.folder, self._dataset, begun.collate))
        if len(self._open) > 1 or any(each.waits for each in self._open):
            yield Reading(torch.zeros(0), self._tell)

    def on_unfinished(self, step: int) -> Iterable[Event]:
        """Tell what is known of all loaders by now, where it is something new.

        Whether watching ends or somebody looks, nobody says: they are told again when
        more is known, and the latest event holds.
        """
        found = [(each, each.known()) for each in self._open]
        self._open = [replace(each, told=known) for each, known in found]
        return [_event(known) for each, known in found if known != each.told]

    def _tell(self, _: Any) -> Iterable[Event]:
        """Tell of loaders that have begun, and of those that another one follows."""
        waiting, self._open = self._open, []
        for each in waiting:
            last = each is waiting[-1]
            looked = each
            if not last or each.waits:
                known = each.known()
                whole = len(known.started) == known.workers
                if known != each.told and (whole or not each.patience):
                    yield _event(known)
                    looked = replace(each, told=known)
            if last:
                self._open.append(replace(looked, patience=max(each.patience - 1, 0)))


def _event(start: LoaderStart) -> Event:
    return Event("loader", start.step, time.time(), _words(start), start.as_json())


def _held(dataset: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(dataset)
    except TypeError:  # a list of rows
        return lambda: dataset


def _words(start: LoaderStart) -> str:
    seeds = ", ".join(f"{each.worker}: {each.seed}" for each in start.started)
    drawn = "" if start.seed is None else f", seed {start.seed}"
    return f"{start.dataset} {start.order}{drawn}" + (seeds and f", workers {seeds}")
