"""The texts of all rows in a file that has no name, to be compared later."""

from array import array
from collections.abc import Iterator

import numpy as np

from ftlab.probes.data.row_parts import RowParts
from ftlab.probes.data.spill import Spill

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
        self._texts = Spill()
        self._ends = Spill()
        self._waiting = array("q")

    def append(self, text: str) -> None:
        """Write the next text."""
        self._texts.append(text.encode("utf-8", "surrogatepass"))
        self._waiting.append(len(self._texts))
        if len(self._waiting) >= BLOCK:
            self._flush()

    def _flush(self) -> None:
        self._ends.append(self._waiting.tobytes())
        del self._waiting[:]

    def __len__(self) -> int:
        return len(self._ends) // 8 + len(self._waiting)

    def __getitem__(self, number: int) -> str:
        self._flush()
        first = max(number - 1, 0)
        ends = np.frombuffer(self._ends.read(8 * first, 8 * (number - first + 1)), "q")
        return self._read(int(ends[0]) if number else 0, int(ends[-1]))

    def __iter__(self) -> Iterator[str]:
        self._flush()
        start = 0
        for block in range(0, len(self), BLOCK):
            ends = np.frombuffer(self._ends.read(8 * block, 8 * BLOCK), "q")
            for end in ends.tolist():
                yield self._read(start, end)
                start = end

    def _read(self, start: int, end: int) -> str:
        return self._texts.read(start, end - start).decode("utf-8", "surrogatepass")

    def close(self) -> None:
        """Let the files go."""
        self._texts.close()
        self._ends.close()
