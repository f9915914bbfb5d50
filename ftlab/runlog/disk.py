"""Writes to the disk that are whole or not at all, and reads that may fail."""

import contextlib
import os
import warnings
from pathlib import Path

from ftlab.records.errors import DamageWarning, SchemaError
from ftlab.records.printable import printable


class LeftOut(contextlib.AbstractContextManager[None]):
    """Leave out what cannot be read within, with one warning that names the file.

    Bytes on a disk may be anything, and so is what a reader of theirs raises. What was
    written by a newer ftlab, and a file that is gone by now, are for the caller.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        garbage = isinstance(error, Exception)
        if not garbage or isinstance(error, SchemaError | FileNotFoundError):
            return False
        name_damage(self._path, f"{type(error).__name__}: {error}")
        return True


def name_damage(path: Path, what: str) -> None:
    """Warn that a part of a file is missing in what is shown."""
    why = printable(what[:300])
    msg = f"{str(path)!r} is damaged, and a part of it was left out ({why})."
    warnings.warn(msg, DamageWarning, stacklevel=3)


def write_all(file: int, data: bytes) -> None:
    """Write all of ``data``, however little the system takes at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def replace(path: Path, data: bytes) -> None:
    """Put ``data`` in the place of ``path``: all of it, synced to disk, or nothing."""
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
