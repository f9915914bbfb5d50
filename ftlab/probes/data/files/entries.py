"""What readers give: rows with their place, and places where no row could be read."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

LARGEST = 16 << 20
"""Bytes of one row that are read; a larger one is named and passed over."""

SHOWN = 60
"""Characters of an excerpt."""


LeftOut = Callable[[int], bool]
"""Tells of a row, by its number, whether a copy leaves it out."""


class Entry(NamedTuple):
    """A row.

    Attributes
    ----------
    at
        Its line in the file, from 1, or its number in the dataset, from 0.
    value
        What stands there: mostly a dictionary; a `Broken` where it cannot be read.
    """

    at: int
    value: Any


@dataclass(frozen=True, slots=True)
class Broken:
    """A row, or several, that cannot be read.

    Attributes
    ----------
    says
        Why, in words.
    char
        The byte or character at which reading failed; -1 where there is none.
    excerpt
        What stands there.
    rows
        How many rows are lost; 1 where nobody knows.
    """

    says: str
    char: int = -1
    excerpt: str = ""
    rows: int = 1


@dataclass(frozen=True, slots=True)
class Source:
    """A part of a dataset that can be read again and again: mostly a file.

    Attributes
    ----------
    name
        Of the file; ``""`` for rows in memory.
    unit
        What `Entry.at` counts: ``"line"`` or ``"row"``.
    read
        Gives all entries in order.
    total
        How many there are; ``None`` where only reading tells.
    path
        Of the file; ``""`` for rows in memory.
    form
        ``"json lines"``, ``"json array"``, ``"parquet"``, ``"arrow"`` or ``"rows"``.
    count
        Tells how many there are now, of rows in memory; ``None`` where nobody knows.
    """

    name: str
    unit: str
    read: Callable[[], Iterator[Entry]]
    total: int | None = None
    path: str = ""
    form: str = "rows"
    count: Callable[[], int] | None = None


def excerpt_of(text: str, at: int) -> str:
    """Return what stands around a character.

    Examples
    --------
    >>> from ftlab.probes.data.files.entries import excerpt_of
    >>> excerpt_of("x" * 100 + "!" + "y" * 100, 100)
    '...xxxxxxxxxxxxxxxxxxxx!yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy...'
    """
    start = max(0, at - SHOWN // 3)
    end = min(len(text), start + SHOWN)
    before = "..." if start else ""
    after = "..." if end < len(text) else ""
    return f"{before}{text[start:end]}{after}"


def entries_of(sources: list[Source]) -> Iterator[tuple[int, Entry]]:
    """Yield all entries, each with the number of its source."""
    for number, source in enumerate(sources):
        for entry in source.read():
            yield number, entry
