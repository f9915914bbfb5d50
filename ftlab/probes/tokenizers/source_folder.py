"""Watches the folder that the run's tokenizer was loaded from."""

import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import torch

from ftlab.probes.plain import readable
from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.schedule import every
from ftlab.probes.subject import Subject
from ftlab.probes.taps.forward import innermost
from ftlab.probes.tokenizer_files.embedding_rows import embedding_rows
from ftlab.probes.tokenizer_files.folder_look import look_at_folder
from ftlab.probes.tokenizer_files.folder_stamps import FolderStamps
from ftlab.probes.tokenizers.fingerprint import read_fingerprint
from ftlab.probes.tokenizers.folder_tokenizer import folder_print, loaded_from
from ftlab.probes.tokenizers.mended import unmended
from ftlab.probes.tokenizers.subject_watch import watch_of
from ftlab.records.event import Event
from ftlab.records.fingerprint import Fingerprint
from ftlab.records.folder_news import FolderNews
from ftlab.records.handle import Handle


class SourceFolder(Probe):
    """Compare the files with each other once, and notice when they change.

    The first look loads the tokenizer again, about 1 s of 131,000 entries; each later
    one asks the file system for a few times. What changed is loaded when it changed.
    """

    name: ClassVar[str] = "source_folder"

    def __init__(self, interval: int = 16) -> None:
        self.schedule = every(interval)

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Find the folder, if there is one."""
        self._folder = loaded_from(subject.tokenizer)
        self._stamps: FolderStamps | None = None
        self._held: Fingerprint | None = None
        self._known: tuple[str, ...] = ()
        return ()

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Look at the files."""
        if self._folder is None:
            return ()
        told = self._look(self._folder, moment.subject, moment.step)
        return () if told is None else (Reading(torch.zeros(0), lambda _: [told]),)

    def _look(self, folder: Path, subject: Subject, step: int) -> Event | None:
        if self._stamps is None:
            self._stamps = FolderStamps(folder)
            told, self._held = first_look(folder, subject)
            return replace(told, step=step)
        changed = self._stamps.changed()
        if changed == self._known:
            return None
        now, run = folder_print(folder), watch_of(subject).fingerprint()
        if now is None or run is None:  # being written, or removed: look again later
            return None
        self._known = changed
        parts = now.differing(self._held) if self._held else ()
        news = FolderNews(
            "changed", folder.name, changed, parts, apart=run.differing(now)
        )
        words = f"files of the tokenizer in {folder.name} have changed: "
        words += ", ".join(changed) or "back to what they were"
        return _event(news, words, step)


def first_look(folder: Path, subject: Subject) -> tuple[Event, Fingerprint | None]:
    """Compare the files with each other; what the run has mended is no matter.

    Returns
    -------
    tuple
        What is told of it, and the fingerprint of the tokenizer that the files give.
    """
    look = look_at_folder(folder, _rows(folder, subject))
    agreements, held = look.agreements, None
    if look.reader is not None:
        loaded = look.reader.tokenizer
        held = read_fingerprint(loaded)
        agreements = unmended(agreements, loaded, subject)
    unlike = [each for each in agreements if each.status in ("differs", "fails")]
    words = f"the tokenizer's files in {folder.name}: {len(unlike)} disagreements"
    return _event(FolderNews("read", folder.name, agreements=agreements), words), held


def _event(news: FolderNews, words: str, step: int = 0) -> Event:
    return Event("tokenizer-files", step, time.time(), words, news.as_json())


def _rows(folder: Path, subject: Subject) -> dict[str, int]:
    """Return the rows of the embedding; a model need not tell of any."""
    model = innermost(subject.model)
    found = readable(
        files=lambda: embedding_rows(folder),
        model=lambda: embedding_rows(folder, model),
    )
    return found.get("model") or found.get("files") or {}
