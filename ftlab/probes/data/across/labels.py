"""Labels that a training breaks on: one for all rows, -1, lists of another length.

Who calls whom: `Scan` gives each row to `Labels.look`; `report_labels` asks once all
rows are known.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ftlab.probes.data.row_sets import RowSet
from ftlab.probes.data.rows.formats import LABELS
from ftlab.probes.data.rows.parts import RowParts, is_answer
from ftlab.probes.data.rows.plain import plain

FEWEST = 50
"""Rows from which on one label for all of them is no chance."""

KNOWN, LONGEST = 100, 40
"""Different labels beyond which there are no classes, and characters of one."""

NONE = "-1"
"""What stands for a label that a row does not have."""

COUNTED, RARER = 3, 0.3
"""Classes from which on -1 is none of them, and how rare it is beside the rarest."""

SHORTEST, LISTED, NEARLY_ALL = 3, 20, 0.9
"""Places of a list of 0 and 1 that cannot be numbers of classes; rows of the usual
length, and their share of all."""


class OtherLabel(NamedTuple):
    """A label that does not fit those of the other rows."""

    name: str
    row: int
    column: str
    says: str


class Labels:
    """Watches the labels of rows, and answers that are as short as one.

    Examples
    --------
    >>> from ftlab.probes.data.across.labels import Labels
    >>> from ftlab.probes.data.rows.formats import parts_of
    >>> labels = Labels()
    >>> for at in range(60):
    ...     row = {"text": "A bridge.", "labels": [0, 1, 0] if at != 7 else [0, 1]}
    ...     labels.look(at, row, parts_of(row))
    >>> [(each.row, each.says) for each in labels.found(60, whole=True)]
    [(7, '2 places, and 3 elsewhere')]
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._none = RowSet()
        self._lengths: dict[int, RowSet] = {}
        self._column = ""
        self._open = self._others = False

    def look(self, number: int, row: Mapping[str, Any], read: RowParts) -> None:
        """Take a row in."""
        column = next((name for name in LABELS if name in row), "")
        self._column = column or self._column
        label = row[column] if column else _answer(read)
        if not isinstance(label, str | int):
            label = plain(label)
        if isinstance(label, str | int):
            self._count(number, str(label))
        elif isinstance(label, list | tuple) and read.kind == "text":
            self._others |= not all(each in (0, 1) for each in label)
            if not self._others and len(self._lengths) <= KNOWN:
                self._lengths.setdefault(len(label), RowSet()).add(number)

    def _count(self, number: int, label: str) -> None:
        if self._open or len(label) > LONGEST:
            return
        if label == NONE:
            self._none.add(number)
        self._counts[label] += 1
        self._open = len(self._counts) > KNOWN

    def found(self, rows: int, *, whole: bool) -> Iterator[OtherLabel]:
        """Yield what does not fit.

        Parameters
        ----------
        rows
            How many there are.
        whole
            Whether all rows were read: the first ones may well have one label.
        """
        counts = self._counts
        if whole and len(counts) == 1 and counts.total() == rows >= FEWEST:
            label = next(iter(counts))
            says = f"{label!r}, as in all {rows:,} rows"
            says += ": bool('False') is True" if label == "True" else ""
            for row in range(rows):
                yield OtherLabel("one-label", row, self._column, says)
        yield from self._of_none()
        yield from self._of_other_length()

    def _of_none(self) -> Iterator[OtherLabel]:
        """Yield -1 beside 0, 1, 2: of two classes it may well be a third one."""
        counts = {label: n for label, n in self._counts.items() if label != NONE}
        known = {str(number) for number in range(len(counts))}
        if self._open or len(counts) < COUNTED or counts.keys() != known:
            return
        if len(self._none) <= RARER * min(counts.values()):
            says = f"-1, beside 0 to {len(counts) - 1}"
            for row in self._none.numbers().tolist():
                yield OtherLabel("label-of-none", row, self._column, says)

    def _of_other_length(self) -> Iterator[OtherLabel]:
        counts = {size: len(rows) for size, rows in self._lengths.items()}
        usual = max(counts, key=counts.__getitem__, default=0)
        least = max(LISTED, NEARLY_ALL * sum(counts.values()))
        if self._others or usual < SHORTEST or counts[usual] < least:
            return
        for size, rows in self._lengths.items():
            says = f"{size:,} places, and {usual:,} elsewhere"
            for row in rows.numbers().tolist() if size != usual else ():
                yield OtherLabel("label-of-other-length", row, self._column, says)


def _answer(read: RowParts) -> str | None:
    """Return the last answer, which may be a class as well."""
    last = read.parts[-1] if read.parts else None
    asked = last is not None and is_answer(last) and len(read.parts) > 1
    held = read.beside is not None or read.kind == "preference"
    return None if last is None or not asked or held else last.text or None
