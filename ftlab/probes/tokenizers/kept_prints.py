"""Keeps the fingerprint of the run's tokenizer beside each checkpoint."""

import contextlib
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.subject import Subject
from ftlab.probes.tokenizers.fingerprint import read_fingerprint
from ftlab.probes.tokenizers.folder_tokenizer import folder_print, is_folder
from ftlab.probes.tokenizers.kept_print import keep_beside, trained_with
from ftlab.probes.tokenizers.reader_of import reader_of
from ftlab.probes.tokenizers.subject_watch import watch_of
from ftlab.records.event import Event
from ftlab.records.fingerprint import Fingerprint
from ftlab.records.folder_news import FolderNews, Matter
from ftlab.records.handle import CallbackHandle, Handle


class KeptPrints(Probe):
    """Write the fingerprint into each folder that the model or tokenizer is saved in.

    When watching ends, the tokenizer that was saved last is loaded again and compared:
    0.5 s for 131,000 entries, once for a run.
    """

    light = False

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Begin without any checkpoint."""
        self._events: list[Event] = []
        self._saved: tuple[Path, Fingerprint] | None = None
        self._over = False
        return (CallbackHandle(self._end),)

    def on_save(self, moment: Moment, owner: Any, folder: Path) -> Iterable[Reading]:
        """Keep the fingerprint, and tell of another tokenizer than the run's."""
        trained = watch_of(moment.subject).fingerprint()
        if trained is None or not is_folder(folder):
            return ()
        if not _is_another(owner, moment.subject.tokenizer):
            keep_beside(folder, trained)
            self._saved = folder, trained
        elif trained_with(folder) is not None:
            self._compare(owner, trained, folder, moment.step)
        return ()

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Hand over what was seen since the last step."""
        if not self._events:
            return ()
        told, self._events = self._events, []
        return (Reading(torch.zeros(0), lambda _: told),)

    def on_unfinished(self, step: int) -> Iterable[Event]:
        """Tell what was seen; at the end, load again what was saved last."""
        if self._over and self._saved is not None:
            folder, trained = self._saved
            self._saved = None
            self._read_back(folder, trained, step)
        told, self._events = self._events, []
        return told

    def _end(self) -> None:
        self._over = True

    def _compare(
        self, owner: Any, trained: Fingerprint, folder: Path, step: int
    ) -> None:
        saved = read_fingerprint(owner)
        if saved is not None and saved.digest != trained.digest:
            self._saved = None  # what is in the folder is known
            self._tell("saved", folder, trained.differing(saved), step)

    def _read_back(self, folder: Path, trained: Fingerprint, step: int) -> None:
        found = folder_print(folder) if is_folder(folder) else None
        if found is not None:
            self._tell("read back", folder, trained.differing(found), step)

    def _tell(
        self, matter: Matter, folder: Path, parts: tuple[str, ...], step: int
    ) -> None:
        news = FolderNews(matter, folder.name, parts=parts)
        words = ", ".join(parts) or "all the same"
        words = f"the tokenizer in {folder.name} was {matter}: {words}"
        event = Event("tokenizer-files", step, time.time(), words, news.as_json())
        self._events.append(event)


def keep_trained(subject: Subject, folder: str | Path) -> None:
    """Keep the fingerprint of a run's tokenizer in a folder, and raise for nothing."""
    with contextlib.suppress(Exception):
        trained = watch_of(subject).fingerprint()
        if trained is not None and is_folder(Path(folder)):
            keep_beside(Path(folder), trained)


def _is_another(owner: Any, own: Any) -> bool:
    """Tell whether what was saved is a tokenizer, and not the run's."""
    saved, known = reader_of(owner), reader_of(own)
    if saved is None or known is None:
        return False
    return saved.tokenizer is not known.tokenizer
