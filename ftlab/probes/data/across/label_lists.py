"""Labels that are lists: one place for each class, or a tag for each word.

Who calls whom: `Scan` gives each row to `LabelLists.look`. `label_reports` asks
afterwards what does not fit the others.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ftlab.probes.data.row_sets import KEPT, RowSet
from ftlab.probes.data.rows.layout_names import WORDS, known_names, tag_columns
from ftlab.probes.data.rows.parts import RowParts
from ftlab.probes.data.rows.plain import plain
from ftlab.probes.data.rows.row_parts import LABELS

NEARLY_ALL, FEWEST = 0.9, 20
"""Share of the rows that make a form the usual one, and rows from which on."""

SHORTEST, KNOWN = 3, 16
"""Places of a list of 0 and 1 that cannot be numbers of classes; lengths and columns
that are counted."""

PER_WORD = 0.5
"""Share of the rows with a 0 or 1 for each word from which on they are of words."""

_TAG = re.compile(r"O|[BI](?:[-_].+)?", re.DOTALL)


class OtherLabel(NamedTuple):
    """A list that does not fit those of the other rows."""

    name: str
    row: int
    column: str
    says: str


@dataclass(slots=True)
class _Tagged:
    """Rows of tags in one column.

    Attributes
    ----------
    inside
        Rows with a tag that goes on with another one.
    """

    inside: int = 0
    others: bool = False
    broken: RowSet = field(default_factory=RowSet)
    said: list[tuple[int, int, str]] = field(default_factory=list)


class LabelLists:
    """Watches lists of 0 and 1, and tags that begin with B and go on with I.

    Examples
    --------
    >>> from ftlab.probes.data.across.label_lists import LabelLists
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> lists = LabelLists()
    >>> for at in range(60):
    ...     row = {"text": "A bridge.", "labels": [0, 1, 0] if at != 7 else [0, 1]}
    ...     lists.look(at, row, parts_of(row))
    >>> [(each.row, each.says) for each in lists.found()]
    [(7, '2 places, and 3 elsewhere')]
    """

    def __init__(self) -> None:
        self._lengths: dict[int, RowSet] = {}
        self._others = False
        self._per_word = 0
        self._column = ""
        self._tagged: dict[str, _Tagged] = {}

    def look(self, number: int, row: Mapping[str, Any], read: RowParts) -> None:
        """Take a row in."""
        if read.kind != "text":
            return
        if read.parts[0].column.casefold() in WORDS:
            self._look_at_tags(number, row)
            return
        column = next((name for name in LABELS if name in row), None)
        if column is None or isinstance(row[column], str | int):
            return
        value = plain(row[column])
        if isinstance(value, list | tuple):
            self._look_at_places(number, column, value, row, read)

    def _look_at_places(
        self,
        number: int,
        column: str,
        value: Sequence[Any],
        row: Mapping[str, Any],
        read: RowParts,
    ) -> None:
        size = len(value)
        if size not in self._lengths and len(self._lengths) >= KNOWN:
            self._others = True
        if self._others or not all(each in (0, 1) for each in value):
            self._others = True
            return
        self._column = column
        self._lengths.setdefault(size, RowSet()).add(number)
        beside = (len(row[name]) for name in row if isinstance(row[name], list))
        words = len(read.parts[0].text.split())
        self._per_word += size == words or list(beside).count(size) > 1

    def _look_at_tags(self, number: int, row: Mapping[str, Any]) -> None:
        for name in tag_columns(known_names(tuple(row))):
            tags = plain(row[name])
            if not isinstance(tags, list | tuple) or not tags:
                continue
            if name not in self._tagged and len(self._tagged) >= KNOWN:
                continue
            known = self._tagged.setdefault(name, _Tagged())
            if not known.others:
                _follow(known, number, tags)

    def found(self) -> Iterator[OtherLabel]:
        """Yield the lists that do not fit, where nearly all others fit together."""
        yield from self._of_other_length()
        for column, known in self._tagged.items():
            few = len(known.broken) <= (1 - NEARLY_ALL) * known.inside
            if known.others or not few or known.inside < FEWEST:
                continue
            for row, at, says in known.said:
                yield OtherLabel("tag-of-no-beginning", row, f"{column}[{at}]", says)
            for row in known.broken.numbers().tolist():
                yield OtherLabel("tag-of-no-beginning", row, column, "")

    def _of_other_length(self) -> Iterator[OtherLabel]:
        counts = {size: len(rows) for size, rows in self._lengths.items()}
        total, usual = (
            sum(counts.values()),
            max(counts, key=counts.__getitem__, default=0),
        )
        one_form = not self._others and self._per_word <= PER_WORD * total
        least = max(FEWEST, NEARLY_ALL * total)
        if not one_form or usual < SHORTEST or counts[usual] < least:
            return
        for size, rows in self._lengths.items():
            says = f"{size:,} places, and {usual:,} elsewhere"
            for row in rows.numbers().tolist() if size != usual else ():
                yield OtherLabel("label-of-other-length", row, self._column, says)


def _follow(known: _Tagged, number: int, tags: Sequence[Any]) -> None:
    """See whether each tag that goes on with something has this before it."""
    if not all(isinstance(tag, str) and _TAG.fullmatch(tag) for tag in tags):
        known.others = True
        return
    known.inside += any(tag[0] == "I" for tag in tags)
    # the first one may go on with what stood before a cut
    for at in range(1, len(tags)):
        tag, before = tags[at], tags[at - 1]
        if tag[0] == "I" and (before == "O" or before[1:] != tag[1:]):
            known.broken.add(number)
            if len(known.said) < KEPT:
                known.said.append((number, at, f"{tag!r} behind {before!r}"))
            return
