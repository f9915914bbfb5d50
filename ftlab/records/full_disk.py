"""Says in a line that the output of a command cannot be written."""

import contextlib
import errno
import os
import sys
from collections.abc import Iterator

from ftlab.records.errors import BadValueError


@contextlib.contextmanager
def full_disk_named() -> Iterator[None]:
    """Turn the error of a full disk into one that says what to do.

    Raises
    ------
    BadValueError
        The disk is full to which a command writes.

    Examples
    --------
    >>> from ftlab.records.full_disk import full_disk_named
    >>> with full_disk_named():
    ...     print("There is room.")
    There is room.
    """
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        # what still waits to be written would fail once more when Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        msg = f"The output cannot be written: {error.strerror}. Use a different disk."
        raise BadValueError(msg) from error
