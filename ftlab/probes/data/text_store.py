"""The texts of all rows in a file that has no name, to be compared later."""

import os
import tempfile
from array import array
from collections.abc import Iterator

import numpy as np

from ftlab.probes.data.row_parts import RowParts

BETWEEN = "\x00"
"""Stands between what is asked and what is answered."""

BLOCK = 1 << 16


def compared(read: RowParts) -> str:
    r"""Return the texts in which a row may be like another: asked, then answered.

    Of a conversation the last answer counts: rows may be made of it turn by turn.

    Examples
    --------
    >>> from ftlab.probes.data.row_parts import parts_of
    >>> from ftlab.probes.data.text_store import compared
    >>> compared(parts_of({"prompt": "1+1?", "completion": "2"}))
    '1+1?\x002'
    """
    parts = [part for part in read.parts if part.role != "system"]
    answers = [part for part in parts if part.role in ("assistant", "")]
    if read.kind == "messages":
        answers = answers[-1:]
    asked = "\n".join(part.text for part in parts if part not in answers)
    return asked + BETWEEN + "\n".join(part.text for part in answers)


class TextStore:
    """Texts by number.

    Examples
    --------
    >>> from ftlab.probes.data.text_store import TextStore
    >>> store = TextStore()
    >>> store.append("one")
    >>> store.append("")
    >>> store.append("three")
    >>> store[2], store[1], len(store), list(store)
    ('three', '', 3, ['one', '', 'three'])
    """

    def __init__(self) -> None:
        self._texts = tempfile.TemporaryFile(prefix="ftlab-")  # noqa: SIM115
        self._ends = tempfile.TemporaryFile(prefix="ftlab-")  # noqa: SIM115
        self._waiting = array("q")
        self._end = 0
        self._count = 0

    def append(self, text: str) -> None:
        """Write the next text."""
        self._end += self._texts.write(text.encode("utf-8", "surrogatepass"))
        self._waiting.append(self._end)
        self._count += 1
        if len(self._waiting) >= BLOCK:
            self._flush()

    def _flush(self) -> None:
        self._ends.write(self._waiting.tobytes())
        del self._waiting[:]

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> str:
        self._flush()
        first = max(number - 1, 0)
        self._ends.seek(8 * first)
        ends = np.frombuffer(self._ends.read(8 * (number - first + 1)), np.int64)
        self._ends.seek(0, os.SEEK_END)
        start = int(ends[0]) if number else 0
        text = self._read(start, int(ends[-1]))
        self._texts.seek(0, os.SEEK_END)
        return text

    def __iter__(self) -> Iterator[str]:
        self._flush()
        start = 0
        for block in range(0, self._count, BLOCK):
            self._ends.seek(8 * block)
            for end in np.frombuffer(self._ends.read(8 * BLOCK), np.int64).tolist():
                yield self._read(start, end)
                start = end
        self._ends.seek(0, os.SEEK_END)
        self._texts.seek(0, os.SEEK_END)

    def _read(self, start: int, end: int) -> str:
        self._texts.seek(start)
        return self._texts.read(end - start).decode("utf-8", "surrogatepass")

    def close(self) -> None:
        """Let the files go."""
        self._texts.close()
        self._ends.close()
