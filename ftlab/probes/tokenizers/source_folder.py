"""Watches the folder that the run's tokenizer was loaded from."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from ftlab.probes.plain import readable
from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.schedule import every
from ftlab.probes.subject import Subject
from ftlab.probes.taps.forward import innermost
from ftlab.probes.tokenizer_files.changed_parts import changed_parts
from ftlab.probes.tokenizer_files.embedding_rows import embedding_rows
from ftlab.probes.tokenizer_files.file_agreements import file_agreements
from ftlab.probes.tokenizer_files.folder_files import read_folder
from ftlab.probes.tokenizer_files.folder_stamps import FolderStamps
from ftlab.probes.tokenizers.folder_tokenizer import folder_print, loaded_from
from ftlab.probes.tokenizers.mended import unmended
from ftlab.probes.tokenizers.reader_of import reader_of
from ftlab.probes.tokenizers.subject_watch import watch_of
from ftlab.records.event import Event
from ftlab.records.folder_news import FolderNews
from ftlab.records.handle import Handle


class SourceFolder(Probe):
    """Compare the files with each other once, and notice when they change.

    The first look reads the files and loads nothing; each later one asks the file
    system for a few times. Only what has changed is loaded.
    """

    def __init__(self, interval: int = 16) -> None:
        self.schedule = every(interval)

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Find the folder, if there is one."""
        self._folder = loaded_from(subject.tokenizer)
        self._stamps: FolderStamps | None = None
        self._known: Mapping[str, Sequence[str]] = {}
        return ()

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Look at the files."""
        if self._folder is None:
            return ()
        told = self._look(self._folder, moment.subject)
        if told is None:
            return ()
        event = replace(told, step=moment.step)
        return (Reading(torch.zeros(0), lambda _: [event]),)

    def _look(self, folder: Path, subject: Subject) -> Event | None:
        if self._stamps is None:
            self._stamps = FolderStamps(folder)
            return first_look(folder, subject)
        changed = self._stamps.changed()
        if changed == self._known:
            return None
        now, run = folder_print(folder), watch_of(subject).fingerprint()
        if now is None or run is None:  # being written, or removed: look again later
            return None
        self._known = changed
        likely = changed_parts(changed)
        parts = tuple(each for each in run.differing(now) if each in likely)
        words = ", ".join(changed) or "back to what they were"
        words = f"files of the tokenizer in {folder.name} have changed: {words}"
        return _event(FolderNews("changed", folder.name, tuple(changed), parts), words)


def first_look(folder: Path, subject: Subject) -> Event:
    """Compare the files with each other, and with the tokenizer that the run has."""
    files, reader = read_folder(folder), reader_of(subject.tokenizer)
    found = file_agreements(files, reader, _rows(folder, subject))
    agreements = unmended(found, files, subject)
    unlike = [each for each in agreements if each.status in ("differs", "fails")]
    words = f"the tokenizer's files in {folder.name}: {len(unlike)} disagreements"
    return _event(FolderNews("read", folder.name, agreements=agreements), words)


def _event(news: FolderNews, words: str) -> Event:
    return Event("tokenizer-files", 0, time.time(), words, news.as_json())


def _rows(folder: Path, subject: Subject) -> dict[str, int]:
    """Return the rows of the embedding; a model need not tell of any."""
    model = innermost(subject.model)
    found = readable(
        files=lambda: embedding_rows(folder),
        model=lambda: embedding_rows(folder, model),
    )
    return found.get("model") or found.get("files") or {}
