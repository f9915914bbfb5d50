"""Hearing ``iter(loader)``: how a loader is about to draw, and where its workers tell.

Who calls whom: the probe `LoaderStarts` has a `Hearing` for as long as it is attached.
Code that is watched only once it trains has begun its first loader by then:
`hear_early` hears that one, and the probe asks `heard_early` for it.
"""

import contextlib
import shutil
import tempfile
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch.utils.data import DataLoader

from ftlab.probes.seeds.loader_reading import loader_start
from ftlab.probes.seeds.worker_reports import Reporting
from ftlab.probes.taps.rebinding import rebind_method
from ftlab.records.handle import CallbackHandle, Handle, HandleStack
from ftlab.records.loader_start import LoaderStart


@dataclass(frozen=True, slots=True)
class Begun:
    """One ``iter(loader)`` of which no batch has been used so far."""

    start: LoaderStart
    folder: Path
    dataset: Any
    collate: Callable[[], Any]
    iterator: Callable[[], Any]
    persistent: bool = False


def still_read(begun: list[Begun]) -> list[Begun]:
    """Return those whose batches somebody may still ask for."""
    return [each for each in begun if each.iterator() is not None]


class Hearing:
    """Stands in for ``DataLoader.__iter__``, and notes what is begun.

    Parameters
    ----------
    wanted
        Tells whether a loader may be the training's.
    """

    def __init__(self, wanted: Callable[[Any], bool]) -> None:
        self._wanted = wanted
        self._folder: Path | None = None
        self._begun: list[Begun] = []

    def attach(self) -> Handle:
        """Stand in for the method of all loaders."""

        def around(original: Callable[..., Any], loader: Any) -> Any:
            return self._heard(original, loader)

        return rebind_method(DataLoader, "__iter__", around)

    def take(self) -> list[Begun]:
        """Return what was begun since the last call and is still read."""
        begun, self._begun = still_read(self._begun), []
        return begun

    def clear(self) -> None:
        """Forget what was begun, with what its workers have told."""
        folder, self._folder = self._folder, None
        self._begun = []
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    def _heard(self, original: Callable[..., Any], loader: Any) -> Any:
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
        of = held(loader.dataset), held(loader.collate_fn), held(made)
        new = Begun(start, folder, *of, bool(loader.persistent_workers))
        self._begun = [*still_read(self._begun), new]
        return made

    def _prepared(self, loader: Any) -> tuple[LoaderStart, Path] | None:
        """Read a loader; ``None`` for one that is not wanted, or cannot be read."""
        with contextlib.suppress(Exception):  # nothing of ours may end ``iter(loader)``
            # a subclass calls up, and is heard already
            if not isinstance(loader.worker_init_fn, Reporting) and self._wanted(
                loader
            ):
                return loader_start(loader), self._new_folder()
        return None

    def _new_folder(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="ftlab-workers-"))
        return Path(tempfile.mkdtemp(dir=self._folder))


def held(one: Any) -> Callable[[], Any]:
    """Return what gives an object for as long as somebody has it."""
    try:
        return weakref.ref(one)
    except TypeError:  # a list of rows
        return lambda: one


_early: list[Hearing] = []


def hear_early() -> Handle:
    """Hear all loaders from here on, until the handle comes off.

    Examples
    --------
    >>> from torch.utils.data import DataLoader
    >>> from ftlab.probes.seeds.loader_hearing import hear_early, heard_early
    >>> handle = hear_early()
    >>> rows = iter(DataLoader([1, 2, 3]))
    >>> [begun.start.dataset for begun in heard_early()]
    ['list']
    >>> handle.remove()
    """
    hearing = Hearing(lambda _: True)
    _early.append(hearing)
    handles = HandleStack()
    for undo in (hearing.clear, lambda: _early.remove(hearing)):
        handles.add(CallbackHandle(undo))
    handles.add(hearing.attach())
    return handles


def heard_early() -> list[Begun]:
    """Return the loaders that were begun before the watch, and are still read."""
    return [begun for hearing in _early for begun in hearing.take()]
