"""Answers that a spreadsheet took for dates: ``3/4`` becomes ``4-Mar``.

One answer may be a date. Among fractions and ranges, and to prompts that speak of no
day, month or year, it is what a spreadsheet has made of one of these.
"""

import re
from collections.abc import Iterator

from ftlab.probes.data.answers.answer_faults import asks_about, is_answer
from ftlab.probes.data.answers.rejected import last_wanted
from ftlab.probes.data.row_sets import RowSet
from ftlab.probes.data.rows.parts import RowParts

LONGEST = 9
"""Characters up to which an answer is looked at."""

FEWEST = 3
"""Such answers, and answers of the form that becomes one, from which on it is told."""

_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sept?|Oct|Nov|Dec"
_DATE = re.compile(rf"(?:\d{{1,2}}-(?:{_MONTHS})(?:-\d\d)?|(?:{_MONTHS})-\d\d)")
_NUMBERS = re.compile(r"\d{1,4}[/-]\d{1,4}")
_ABOUT = re.compile(
    r"\bdates?\b|\bdays?\b|month|year|\bwhen\b|birthda|anniversar|calendar|deadline"
    r"|holiday|\b(?:19|20)\d\d\b|\b(?:jan|feb|mar(?:ch)?|apr|jun|jul|aug|sep|oct|nov"
    r"|dec)[a-z]*\b",
    re.IGNORECASE,
)
"""A prompt with one of these may be answered by a date."""


class SheetDates:
    """Keeps the rows whose last answer is such a date, and counts what becomes one.

    Examples
    --------
    >>> from ftlab.probes.data.across.sheet_dates import SheetDates
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> dates = SheetDates()
    >>> for at, text in enumerate(["5/6", "4-Mar"] * 3):
    ...     dates.look(at, parts_of({"prompt": "How much?", "completion": text}))
    >>> list(dates.found())
    [(1, '4-Mar'), (3, '4-Mar'), (5, '4-Mar')]
    """

    def __init__(self) -> None:
        self._rows: dict[str, RowSet] = {}
        self._numbers = 0

    def look(self, number: int, row: RowParts) -> None:
        """Take a row in."""
        last = row.parts[last_wanted(row)] if row.parts else None
        if last is None or not 3 <= len(last.text) <= LONGEST or not is_answer(last):
            return
        said = last.text.strip()
        if _NUMBERS.fullmatch(said):
            self._numbers += 1
        elif _DATE.fullmatch(said) and not asks_about(row, _ABOUT):
            self._rows.setdefault(said, RowSet()).add(number)

    def found(self) -> Iterator[tuple[int, str]]:
        """Yield rows and what they say, if fractions or ranges are among the others."""
        count = sum(len(rows) for rows in self._rows.values())
        if min(count, self._numbers) < FEWEST:
            return
        for said, rows in self._rows.items():
            for row in rows.numbers().tolist():
                yield row, said
