"""With which seeds the loader of a training begins each of its epochs."""

import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
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
        self._untold: list[tuple[LoaderStart, Path, int]] = []
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
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    def _hearing(self) -> Callable[..., Any]:
        def around(original: Callable[..., Any], loader: Any) -> Any:
            if not self._is_wanted(loader):
                return original(loader)
            before, folder = loader.worker_init_fn, self._new_folder()
            start = loader_start(loader)
            if loader.num_workers:
                loader.worker_init_fn = Reporting(before, folder)
            try:
                made = original(loader)
            finally:
                loader.worker_init_fn = before
            begun = _Begun(start, folder, loader.dataset, _held(made))
            self._waiting = [*self._read_now(), begun]
            return made

        return around

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
            self._untold.append((start, begun.folder, PATIENCE))
        if self._untold:
            yield Reading(torch.zeros(0), partial(self._tell, False))

    def on_unfinished(self, step: int) -> Iterable[Event]:
        """Tell of the loaders whose workers did not all report."""
        return list(self._tell(True))

    def _tell(self, last: bool, _: Any = None) -> Iterable[Event]:
        waiting, self._untold = self._untold, []
        for start, folder, patience in waiting:
            started = reported(folder)
            if len(started) == start.workers or last or not patience:
                whole = replace(start, started=started)
                yield Event(
                    "loader", start.step, time.time(), _words(whole), whole.as_json()
                )
            else:
                self._untold.append((start, folder, patience - 1))


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
