r"""Single words that go on in the next line, where many texts have several.

Such a word is none of its own where it also stands undivided in the set, or where its
second half stands nowhere: ``well-\nknown`` is a compound.
"""

import re
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from ftlab.probes.data.rows.parts import Part, RowParts

FEWEST, SHARE = 10, 0.01
"""Rows with several such words that make the set one of printed pages, and their share:
all texts are read once more for the single ones."""

MOST, READ = 5000, 20_000
"""Rows with a single one that are remembered; texts in which their words are sought."""

_DIVIDED = re.compile(r"[ \t]([^\W\d_]{2,})-\n([^\W\d_]{2,})(?![\w-])")
_WORD = re.compile(r"[^\W\d_]{2,}")


class Divided(NamedTuple):
    """A divided word: where it stands, and its halves."""

    row: int
    where: str
    char: int
    first: str
    second: str


class DividedWords:
    r"""Keeps the words that are divided at the end of a line.

    Examples
    --------
    >>> from ftlab.probes.data.across.divided_words import DividedWords
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> divided = DividedWords()
    >>> divided.look(3, parts_of({"text": "It is some-\nthing."}))
    >>> [each.row for each in divided.among(["Is it something?"])]
    [3]
    >>> divided.among(["A thing is a thing."])
    []
    """

    def __init__(self) -> None:
        self._kept: list[Divided] = []

    def look(self, number: int, row: RowParts) -> None:
        """Take a row in."""
        for part in row.parts:
            if "-\n" in part.text and len(self._kept) < MOST:
                self._keep(number, part)

    def _keep(self, number: int, part: Part) -> None:
        for found in _DIVIDED.finditer(part.text):
            first, second = found.groups()
            if first[-1].islower() and second.islower():
                at = found.start(1)
                self._kept.append(Divided(number, part.where, at, first, second))

    def among(self, texts: Iterable[str]) -> list[Divided]:
        """Return those that are divided words, as the other texts tell."""
        wanted = {each.second for each in self._kept}
        wanted |= {(each.first + each.second).casefold() for each in self._kept}
        seen: set[str] = set()
        for text in islice(texts, READ):
            seen |= wanted.intersection(
                _WORD.findall(_DIVIDED.sub(" ", text.casefold()))
            )
        return [
            each
            for each in self._kept
            if (each.first + each.second).casefold() in seen or each.second not in seen
        ]
