"""Lines of the page that a text was taken from, told by their words and by many texts.

A line that many texts begin or end with may be a licence, a greeting or a heading:
those that pages have around their texts alone are told, where several texts have one.
Who calls whom: `Scan` gives each row to `PageFrames.look`, and `report_page_frames`
judges once all rows are read.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from ftlab.probes.data.across.page_lines import is_around_text, page_number
from ftlab.probes.data.row_sets import KEPT, RowSet
from ftlab.probes.data.rows.parts import RowParts

FEWEST, PAGES = 5, 10
"""Texts with one line from which on it is told, and with the number of a page."""

NUMBERS = 3
"""Different numbers among these."""

BESIDE = 0.5
"""Share of the texts that have the same line beside the number of a page."""

SHORTEST, LONGEST, NUMBERED = 16, 300, 80
"""Characters of such a line; those of one that ends with a number."""

EACH, STEP = 1000, 8
"""Rows that are all looked at; behind them each of so many, until lines are found."""

ENDS = 4
"""Lines at each end of a text that are looked at."""

KNOWN, FOLLOWED, OTHERS = 10_000, 64, 1000
"""Lines that are remembered, followed up, and found to be something else."""

_DIGITS = frozenset("0123456789")


class Place(NamedTuple):
    """Where a line stands: the row, the character, and the line itself."""

    row: int
    char: int
    line: str


@dataclass(slots=True)
class Frame:
    """One line that several texts have: the rows, and the first places."""

    rows: RowSet = field(default_factory=RowSet)
    places: list[Place] = field(default_factory=list)
    numbers: set[int] = field(default_factory=set)
    beside: Counter[str] = field(default_factory=Counter)

    def add(self, place: Place) -> None:
        """Take a row in."""
        if self.rows.add(place.row) and len(self.places) < KEPT:
            self.places.append(place)


class PageFrames:
    r"""Watches the lines of texts that stand there alone.

    Examples
    --------
    >>> from ftlab.probes.data.across.page_frames import PageFrames
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> frames = PageFrames()
    >>> for at in range(9):
    ...     end = "Subscribe to our newsletter!" if at % 2 == 0 else ""
    ...     frames.look(at, parts_of({"text": f"Text {at}\nis here.\n{end}"}))
    >>> [frame.rows.numbers().tolist() for frame in frames.found()]
    [[0, 2, 4, 6, 8]]
    """

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, int]] = {}
        self._is_near = False
        self._followed: dict[str, Frame] = {}
        self._others: set[str] = set()
        self._pages: dict[str, Frame] = {}
        self._of_many: set[str] = set()

    def look(self, number: int, row: RowParts) -> None:
        """Take a row in: a text without labels."""
        if row.kind != "text" or row.beside is not None:
            return
        if number >= EACH and number % STEP and not self._is_near:
            return
        text = row.parts[0].text
        if "\n" not in text:
            return
        lines = text.split("\n")
        self._look_at_ends(number, text, lines)
        for at, line in enumerate(lines):
            if line and line[-1] in _DIGITS and len(line) <= NUMBERED:
                self._number(number, text, lines, at)

    def _look_at_ends(self, number: int, text: str, lines: list[str]) -> None:
        few = len(lines) <= 2 * ENDS
        for line in lines if few else lines[:ENDS] + lines[-ENDS:]:
            if SHORTEST <= len(line) <= LONGEST:
                first = self._seen.get(line)
                if first is None:
                    self._seen[line] = number, text.rfind(line)
                elif first[0] != number and line not in self._others:
                    self._see(Place(number, text.rfind(line), line), first)
        if len(self._seen) > KNOWN:
            self._seen.clear()

    def _see(self, place: Place, first: tuple[int, int]) -> None:
        """Take in a line that another text has too."""
        frame = self._followed.get(place.line)
        if frame is None and len(self._followed) < FOLLOWED:
            if is_around_text(place.line):
                frame = self._followed[place.line] = Frame()
                frame.add(Place(*first, place.line))
            elif len(self._others) < OTHERS:
                self._others.add(place.line)
        if frame is not None:
            self._add(frame, place)

    def _add(self, frame: Frame, place: Place) -> None:
        frame.add(place)
        self._is_near |= len(frame.rows) > FEWEST // 2

    def _number(self, number: int, text: str, lines: list[str], at: int) -> None:
        read = page_number(lines[at].strip())
        if read is None:
            return
        page, key, of_many = read
        frame = self._pages.get(key)
        if frame is None:
            if len(self._pages) >= FOLLOWED:
                return
            frame = self._pages[key] = Frame()
        self._add(frame, Place(number, text.find(lines[at]), lines[at]))
        if len(frame.numbers) < FOLLOWED:
            frame.numbers.add(page)
        if of_many:
            self._of_many.add(key)
        for other in {*lines[max(at - 1, 0) : at], *lines[at + 1 : at + 2]}:
            title = SHORTEST <= len(other) <= LONGEST and _DIGITS.isdisjoint(other)
            if title and len(frame.beside) < KNOWN:
                frame.beside[other.strip()] += 1

    def found(self) -> list[Frame]:
        """Return the lines of pages, with the rows that have them."""
        pages = [
            frame
            for key, frame in self._pages.items()
            if len(frame.rows) >= PAGES
            and len(frame.numbers) >= NUMBERS
            and (key in self._of_many or _has_neighbour(frame))
        ]
        notices = [f for f in self._followed.values() if len(f.rows) >= FEWEST]
        return [*notices, *pages]


def _has_neighbour(frame: Frame) -> bool:
    _, count = frame.beside.most_common(1)[0] if frame.beside else ("", 0)
    return count >= BESIDE * len(frame.rows)
