"""With which seeds the loader of a training begins each of its epochs."""

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.seeds.held_generators import held_states
from ftlab.probes.seeds.loader_hearing import Begun, Hearing, heard_early, still_read
from ftlab.probes.seeds.worker_reports import reported
from ftlab.probes.subject import Subject
from ftlab.records.event import Event
from ftlab.records.handle import CallbackHandle, Handle
from ftlab.records.loader_start import LoaderStart

STARTS = 64
"""Epochs of a run that are written down."""

PATIENCE = 8
"""Micro-batches within which all workers should have told how they began."""


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
    persistent: bool = False
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

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._hearing = Hearing(self._is_wanted)
        self._early: list[Begun] = []
        self._open: list[_Open] = []
        self._working: list[_Open] = []
        self._dataset: Callable[[], Any] | None = None
        self._step = -1
        self._micro_batch = 0
        self._count = 0

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Hear all loaders, and take over what was heard before."""
        self._begin()
        yield CallbackHandle(self._clear)
        self._early = heard_early()
        yield self._hearing.attach()

    def _clear(self) -> None:
        with contextlib.suppress(Exception):  # a report that cannot be read
            self._open = [replace(e, final=e.known()) for e in self._followed()]
            self._working = []
        self._hearing.clear()
        self._early, self._dataset = [], None

    def _is_wanted(self, loader: Any) -> bool:
        """Tell whether it may be the training's."""
        known = None if self._dataset is None else self._dataset()
        return (known is None or loader.dataset is known) and self._count < STARTS

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Take the loader that was begun for the training's, and ask its workers."""
        self._micro_batch = 0 if moment.step != self._step else self._micro_batch + 1
        self._step = moment.step
        early, self._early = still_read(self._early), []
        for begun in [*early, *self._hearing.take()][-1:]:
            self._count += 1
            self._dataset = begun.dataset
            start = replace(
                begun.start, step=moment.step, micro_batch=self._micro_batch
            )
            of = self._dataset, begun.collate, begun.persistent
            self._open.append(_Open(start, begun.folder, *of))
        if len(self._open) > 1 or any(each.waits for each in self._open):
            yield Reading(torch.zeros(0), self._tell)

    def on_unfinished(self, step: int) -> Iterable[Event]:
        """Tell what is known of all loaders by now, where it is something new.

        Whether watching ends or somebody looks, nobody says: they are told again when
        more is known, and the latest event holds.
        """
        found = [(each, each.known()) for each in self._followed()]
        working = len(self._working)
        looked = [replace(each, told=known) for each, known in found]
        self._working, self._open = looked[:working], looked[working:]
        return [_event(known) for each, known in found if known != each.told]

    def _followed(self) -> list[_Open]:
        """Return the starts whose processes may still tell something, in order."""
        return [*self._working, *self._open]

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
            if not last and each.persistent and looked.told and looked.told.started:
                self._working.append(looked)  # its processes make the next epochs too
            if last:
                self._open.append(replace(looked, patience=max(each.patience - 1, 0)))


def _event(start: LoaderStart) -> Event:
    return Event("loader", start.step, time.time(), _words(start), start.as_json())


def _words(start: LoaderStart) -> str:
    seeds = ", ".join(f"{each.worker}: {each.seed}" for each in start.started)
    drawn = "" if start.seed is None else f", seed {start.seed}"
    return f"{start.dataset} {start.order}{drawn}" + (seeds and f", workers {seeds}")
