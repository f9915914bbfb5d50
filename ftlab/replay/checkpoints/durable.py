"""Folders that are whole or not there: what a killed process leaves is no checkpoint.

A folder is made under a name that begins with a dot. It gets its own name by one
rename, once every byte is on the disk and has been read back.
"""

import contextlib
import hashlib
import os
import platform
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from ftlab.records.plain_files import open_file

_BLOCK = 1 << 20
_PART = re.compile(r"\..+\.(?P<host>[\w-]*)-(?P<process>\d+)\.part$")


def part_of(folder: Path) -> Path:
    """Return the name under which this process makes ``folder``."""
    return folder.with_name(f".{folder.name}.{_host()}-{os.getpid()}.part")


def _host() -> str:
    return re.sub(r"[^\w-]", "_", platform.node())


def sweep(root: Path) -> None:
    """Remove what killed processes of this machine have left in ``root``."""
    for each in root.glob(".*.part"):
        found = _PART.match(each.name)
        here = found is not None and found["host"] == _host()
        if found and here and not _is_alive(int(found["process"])):
            shutil.rmtree(each, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def files_in(folder: Path) -> list[str]:
    """List the files of ``folder`` and of those below it, by their relative path."""
    found = (each for each in folder.rglob("*") if each.is_file())
    return sorted(each.relative_to(folder).as_posix() for each in found)


def write(file: Path, data: bytes) -> None:
    """Write a file down to the disk."""
    with file.open("wb") as opened:
        opened.write(data)
        opened.flush()
        os.fsync(opened.fileno())


def sync(folder: Path) -> None:
    """Bring everything in ``folder`` to the disk, and out of the system's memory.

    What is read afterwards comes from the disk, where the system can do that.
    """
    for path in [*folder.rglob("*"), folder]:
        with _opened(path) as opened:
            os.fsync(opened)
            if path.is_file() and hasattr(os, "posix_fadvise"):
                os.posix_fadvise(opened, 0, 0, os.POSIX_FADV_DONTNEED)


def digest_of(file: Path) -> tuple[int, str]:
    """Return the size of a file, and the SHA-256 of what is in it."""
    digest, size = hashlib.sha256(), 0
    with open_file(file) as opened:
        while block := opened.read(_BLOCK):
            digest.update(block)
            size += len(block)
    return size, digest.hexdigest()


def publish(part: Path, folder: Path) -> None:
    """Give a finished folder its name, for good."""
    part.rename(folder)
    with _opened(folder.parent) as opened:
        os.fsync(opened)


def remove(folder: Path) -> None:
    """Remove a folder; a kill in between leaves none that is not whole."""
    gone = part_of(folder)
    with contextlib.suppress(OSError):
        folder.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
