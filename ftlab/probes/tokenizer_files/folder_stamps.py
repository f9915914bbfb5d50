"""Notices that the files of a tokenizer are no longer what they were."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ftlab.probes.tokenizer_files.folder_files import (
    OWN,
    TOKENIZER_LIMIT,
    VOCABULARIES,
)
from ftlab.records.fingerprint import digest_of

Stamp = tuple[int, int, int]
Sections = Mapping[str, str]
"""Digests of a JSON file's entries by name; of any other file of all of it."""

WHOLE = ""
"""Name of a section that is a whole file."""


class FolderStamps:
    """What the tokenizer's own files of a folder held when it was made.

    A look asks the file system for size, time and inode, 0.1 ms; only what has other
    ones is read again. A file that was copied over itself, or written in another style,
    has not changed.

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
            file: _sections(file) for file, stamp in self._stamps.items() if stamp
        }

    def changed(self) -> dict[str, tuple[str, ...]]:
        """Return the files that hold something else, and in which entries."""
        found = {file.name: self._changed(file) for file in self._files}
        return {name: sections for name, sections in found.items() if sections}

    def _changed(self, file: Path) -> tuple[str, ...]:
        now = _stamp(file)
        if now == self._stamps[file]:
            return ()
        held, found = self._held.get(file, {}), _sections(file)
        unlike = [n for n in {**held, **found} if held.get(n) != found.get(n)]
        if not unlike:
            self._stamps[file] = now
        return tuple(unlike)


def _stamp(file: Path) -> Stamp | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino


def _sections(file: Path) -> Sections:
    """Return what a file holds, nothing of one that is not to be read."""
    try:
        if not file.is_file() or file.stat().st_size > TOKENIZER_LIMIT:
            return {}
        data = file.read_bytes()
    except OSError:
        return {}
    told = _read(data) if file.suffix == ".json" else None
    if told is None:
        return {WHOLE: hashlib.sha256(data).hexdigest()}
    return {name: digest_of(value) for name, value in told.items()}


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
