"""Notices that the files of a tokenizer are no longer what they were."""

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ftlab.probes.tokenizer_files.folder_files import OWN, TOKENIZER_LIMIT, VOCABULARIES

Stamp = tuple[int, int, int]
Entries = Mapping[str, Any]
"""A JSON file's entries by name; of any other file all of it."""

WHOLE = ""
"""Name of an entry that is a whole file."""


class FolderStamps:
    """What the tokenizer's own files of a folder held when it was made.

    A look asks the file system for size, time and inode, 0.1 ms; only what has other
    ones is read again, against a packed copy (3 MB of a vocabulary of 130,000). A file
    that was copied over itself, or written in another style, has not changed.

    Parameters
    ----------
    path
        The folder.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ftlab.probes.tokenizer_files.folder_stamps import FolderStamps
    >>> folder = Path(tempfile.mkdtemp())
    >>> stamps = FolderStamps(folder)
    >>> _ = (folder / "tokenizer.json").write_text('{"normalizer": null}')
    >>> stamps.changed()
    {'tokenizer.json': ('normalizer',)}
    """

    def __init__(self, path: Path) -> None:
        self._files = [path / name for name in (*OWN, *VOCABULARIES)]
        self._stamps = {file: _stamp(file) for file in self._files}
        self._held = {
            file: zlib.compress(data, 1)
            for file in self._files
            if (data := _content(file)) is not None
        }

    def changed(self) -> dict[str, tuple[str, ...]]:
        """Return the files that hold something else, and in which entries."""
        found = {file.name: self._changed(file) for file in self._files}
        return {name: sections for name, sections in found.items() if sections}

    def _changed(self, file: Path) -> tuple[str, ...]:
        now = _stamp(file)
        if now == self._stamps[file]:
            return ()
        packed, data = self._held.get(file), _content(file)
        before = None if packed is None else zlib.decompress(packed)
        old, new = (_entries(file, each) for each in (before, data))
        unlike = [n for n in {**old, **new} if old.get(n, ...) != new.get(n, ...)]
        if not unlike:
            self._stamps[file] = now
        return tuple(unlike)


def _stamp(file: Path) -> Stamp | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino


def _content(file: Path) -> bytes | None:
    """Return what a file holds, ``None`` for one that is not to be read."""
    try:
        if not file.is_file() or file.stat().st_size > TOKENIZER_LIMIT:
            return None
        return file.read_bytes()
    except OSError:
        return None


def _entries(file: Path, data: bytes | None) -> Entries:
    if data is None:
        return {}
    told = _read(data) if file.suffix == ".json" else None
    return {WHOLE: data} if told is None else told


def _read(data: bytes) -> dict[str, Any] | None:
    """Return the entries of a JSON object, those of a model by themselves."""
    try:
        told = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict):
        return None
    model = told.pop("model", None)
    inner = model if isinstance(model, dict) else {}
    return told | {f"model.{name}": value for name, value in inner.items()}
