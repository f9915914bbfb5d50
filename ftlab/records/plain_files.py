"""Files and folders that somebody named: opened only where nothing can block."""

import errno
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

from ftlab.records.errors import BadValueError


def path_of(value: Any, argument: str, example: str) -> Path:
    """Return what was passed for ``argument`` as a path, which need not exist.

    Raises
    ------
    BadValueError
        It is none; the message shows ``example``.
    """
    try:
        return Path(value)
    except TypeError as error:  # also of a path that is bytes
        msg = (
            f"{argument}={value!r:.80} is not a path; pass that of a folder, {example}."
        )
        raise BadValueError(msg) from error


def is_folder(path: Path) -> bool:
    """Whether ``path`` is a folder; one that no disk can have is none."""
    try:
        return path.is_dir()
    except (OSError, ValueError):  # too long a name, or a NUL in it
        return False


def open_file(path: Path) -> BinaryIO:
    """Open a file for reading; a pipe or a device, which may never end, is refused.

    A link to nothing is no missing file.
    """
    try:
        file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115  its caller closes it, and only open() takes an opener
    except FileNotFoundError:
        if path.is_symlink():
            raise OSError(errno.EINVAL, "it is a broken link", str(path)) from None
        raise
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "it is not a file", str(path))


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
