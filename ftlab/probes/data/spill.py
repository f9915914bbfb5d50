"""What is too much for memory, in a file that has no name."""

import contextlib
import os
import tempfile

from ftlab.records.errors import BadValueError

BLOCK = 1 << 20
"""Bytes that wait in memory."""


class Spill:
    """Bytes that are written behind each other, and read anywhere.

    Examples
    --------
    >>> from ftlab.probes.data.spill import Spill
    >>> spill = Spill()
    >>> spill.append(b"one")
    >>> spill.append(b"two")
    >>> spill.read(2, 3), len(spill)
    (b'etw', 6)
    >>> spill.close()
    """

    def __init__(self) -> None:
        try:
            self._file = tempfile.TemporaryFile(prefix="ftlab-")  # noqa: SIM115
        except OSError as error:
            raise _full(error) from error
        self._waiting: list[bytes] = []
        self._held = self._written = 0

    def __len__(self) -> int:
        return self._written + self._held

    def append(self, content: bytes) -> None:
        """Write behind what is there.

        Raises
        ------
        BadValueError
            The folder for temporary files is full.
        """
        self._waiting.append(content)
        self._held += len(content)
        if self._held >= BLOCK:
            self._flush()

    def read(self, start: int, size: int) -> bytes:
        """Return bytes from a place on, fewer where the end is nearer."""
        if self._waiting:
            self._flush()
        self._file.seek(start)
        return self._file.read(size)

    def _flush(self) -> None:
        try:
            self._file.seek(0, os.SEEK_END)
            self._file.write(b"".join(self._waiting))
            self._file.flush()
        except OSError as error:
            raise _full(error) from error
        self._written += self._held
        self._held = 0
        self._waiting = []

    def close(self) -> None:
        """Let the file go."""
        self._waiting = []
        with contextlib.suppress(OSError):  # a full disk was told when it was full
            self._file.close()


def _full(error: OSError) -> BadValueError:
    return BadValueError(
        f"The folder for temporary files cannot be written: {error}. Set TMPDIR to one "
        "with room for the dataset's texts, or pass near_duplicates=False (on the "
        "command line: --no-near), which keeps 8 bytes of a row."
    )
