"""Notices that the files of a tokenizer are no longer what they were."""

import hashlib
from pathlib import Path

from ftlab.probes.tokenizer_files.folder_files import (
    OWN,
    TOKENIZER_LIMIT,
    VOCABULARIES,
)

Stamp = tuple[int, int, int]
_BLOCK = 2**20


class FolderStamps:
    """What the tokenizer's own files of a folder held when it was made.

    A look asks the file system for size, time and inode, 0.1 ms; only what has other
    ones is read again. A file that was copied over itself has not changed.

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
    >>> _ = (folder / "tokenizer.json").write_text("{}")
    >>> stamps.changed()
    ('tokenizer.json',)
    """

    def __init__(self, path: Path) -> None:
        self._files = [path / name for name in (*OWN, *VOCABULARIES)]
        self._stamps = {file: _stamp(file) for file in self._files}
        self._digests = {
            file: _digest(file) for file, stamp in self._stamps.items() if stamp
        }

    def changed(self) -> tuple[str, ...]:
        """Name the files that hold something else than when this was made."""
        return tuple(file.name for file in self._files if self._is_changed(file))

    def _is_changed(self, file: Path) -> bool:
        now = _stamp(file)
        if now == self._stamps[file]:
            return False
        same = now is not None and _digest(file) == self._digests.get(file)
        if same:
            self._stamps[file] = now
        return not same


def _stamp(file: Path) -> Stamp | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino


def _digest(file: Path) -> str:
    """Return the SHA-256 of a file, ``""`` for one that is not to be read."""
    made = hashlib.sha256()
    try:
        if not file.is_file() or file.stat().st_size > TOKENIZER_LIMIT:
            return ""
        with file.open("rb") as opened:
            while block := opened.read(_BLOCK):
                made.update(block)
    except OSError:
        return ""
    return made.hexdigest()
