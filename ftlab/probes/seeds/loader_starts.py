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
from torch.utils.data import (
    DataLoader,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
)

from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.seeds.rng_states import rng_digests
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
    iterator: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class _Untold:
    """One start of which not all workers have told so far."""

    start: LoaderStart
    folder: Path
    patience: int = PATIENCE
    told: bool = False


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
        self._untold: list[_Untold] = []
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
                loader.worker_init_fn = Reporting(before, folder)
            try:
                made = original(loader)
            finally:
                loader.worker_init_fn = before
            begun = _Begun(start, folder, loader.dataset, _held(made))
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
            self._untold.append(_Untold(start, begun.folder))
        if self._untold:
            yield Reading(torch.zeros(0), self._tell)

    def on_unfinished(self, step: int) -> Iterable[Event]:
        """Tell what is known, once, of loaders whose workers have not all reported.

        Whether watching ends or somebody looks, nobody says: they are told again when
        all have, and the later event holds.
        """
        untold, self._untold = self._untold, []
        for each in untold:
            whole = replace(each.start, started=reported(each.folder))
            if not each.told:
                yield _event(whole)
            if len(whole.started) < whole.workers:
                self._untold.append(replace(each, told=True))

    def _tell(self, _: Any) -> Iterable[Event]:
        untold, self._untold = self._untold, []
        for each in untold:
            whole = replace(each.start, started=reported(each.folder))
            if len(whole.started) == whole.workers or not each.patience:
                yield _event(whole)
            else:
                self._untold.append(replace(each, patience=each.patience - 1))


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


def loader_start(loader: Any) -> LoaderStart:
    """Read how a loader will give out its batches.

    Examples
    --------
    >>> from torch.utils.data import DataLoader
    >>> from ftlab.probes.seeds.loader_starts import loader_start
    >>> start = loader_start(DataLoader([1, 2, 3]))
    >>> start.dataset, start.order, start.workers
    ('list', 'in order', 0)
    """
    dataset = loader.dataset
    known = LoaderStart(
        0,
        dataset=type(dataset).__name__,
        workers=int(loader.num_workers),
        rng=rng_digests(),
    )
    if isinstance(dataset, IterableDataset):
        return replace(known, order="stream", epoch=_number(dataset, "epoch"))
    sampler = _innermost(loader)
    generators = [getattr(sampler, "generator", None), loader.generator]
    own = [
        each.initial_seed() for each in generators if isinstance(each, torch.Generator)
    ]
    told = [_number(sampler, name) for name in ("initial_seed", "seed")]
    seeds = [each for each in (*told, *own) if each is not None]
    return replace(
        known,
        sampler=type(sampler).__name__,
        order=_order(sampler),
        seed=seeds[0] if seeds else None,
        epoch=_number(sampler, "epoch"),
    )


def _innermost(loader: Any) -> Any:
    """Return what gives single indices, within batch samplers and their wrappers."""
    found = loader.batch_sampler if loader.batch_sampler is not None else loader.sampler
    while (inner := _inside(found)) is not None:
        found = inner
    return found


def _inside(sampler: Any) -> Any:
    held = vars(sampler) if hasattr(sampler, "__dict__") else {}
    inner = [held.get(name) for name in ("batch_sampler", "sampler")]
    return next((each for each in inner if each is not None), None)


def _order(sampler: Any) -> str:
    if isinstance(sampler, SequentialSampler):
        return "in order"
    drawn = isinstance(sampler, RandomSampler) or getattr(sampler, "shuffle", False)
    return "random" if drawn else "own"


def _number(owner: Any, name: str) -> int | None:
    value = getattr(owner, name, None)
    return value if type(value) is int else None
