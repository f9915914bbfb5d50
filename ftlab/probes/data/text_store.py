"""The texts of all rows in a file that has no name, to be compared later."""

from array import array
from collections.abc import Iterator
from typing import Any

import numpy as np

from ftlab.probes.data.rows.parts import RowParts
from ftlab.probes.data.rows.row_keys import beside_texts, frozen
from ftlab.probes.data.spill import Spill

BETWEEN = "\x00"
"""Stands between what is asked, what is answered, and what is beside."""

JUDGED = "!"
"""Stands before the number of a row whose answer is judged."""

BLOCK = 1 << 16


def compared(read: RowParts) -> str:
    r"""Return the texts in which a row may be like another: asked, then answered.

    Of a conversation the last answer counts: rows may be made of it turn by turn. What
    makes rows of equal texts differ, a picture or a label, follows as a number, and a
    mark where the answers to one prompt are judged.

    Examples
    --------
    >>> from ftlab.probes.data.rows.formats import parts_of
    >>> from ftlab.probes.data.text_store import compared
    >>> compared(parts_of({"prompt": "1+1?", "completion": "2"}))
    '1+1?\x002\x00'
    """
    asked: list[str] = []
    answered: list[str] = []
    last = read.kind == "messages"
    for part in reversed(read.parts):
        if part.role in ("assistant", "") and not (last and answered):
            answered.append(part.text)
        elif part.role != "system":
            asked.append(part.text)
    held = beside_texts(read)
    apart = held and read.kind != "tokens"
    sides = "\n".join(asked[::-1]), "\n".join(answered[::-1])
    mark = JUDGED if read.judged else ""
    return BETWEEN.join((*sides, mark + (beside_of(held) if apart else "")))


def beside_of(value: Any) -> str:
    """Return what stands for everything beside the texts, within one process."""
    return f"{hash(frozen(value)):x}"


def is_judged(beside: str) -> bool:
    """Tell whether an answer is judged, of what `sides_of` gives last."""
    return beside.startswith(JUDGED)


def said_in(kept: str) -> str:
    """Return the texts of what `compared` gave."""
    return kept.rpartition(BETWEEN)[0]


def sides_of(kept: str) -> tuple[str, str, str]:
    """Return what was asked, what was answered, and what stands for the rest."""
    said, _, beside = kept.rpartition(BETWEEN)
    asked, _, answered = said.partition(BETWEEN)
    return asked, answered, beside


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
