"""Writes to the disk that are whole or not at all."""

import os
from pathlib import Path


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
