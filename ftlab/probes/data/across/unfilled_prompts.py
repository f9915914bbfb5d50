"""Fields of a template within prompts, where the other prompts have a text.

What stands around a field is followed up: other rows have a text at the same place, or
all have the field. Who calls whom: `Scan` gives each row to `UnfilledPrompts.look`, and
`report_unfilled` judges once all rows are read.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ftlab.probes.data.answers.answer_faults import is_answer
from ftlab.probes.data.row_sets import KEPT, RowSet
from ftlab.probes.data.rows.parts import Part, RowParts
from ftlab.probes.data.rows.roles import ROLES
from ftlab.probes.data.texts.glance import FIELDS, Glance
from ftlab.probes.data.texts.unfilled import NAMES

BEFORE, BEHIND = 40, 12
"""Characters before and behind a field that make its place known again."""

SHORTEST = 6
"""Characters before a field that are said by more than chance."""

KNOWN, FOLLOWED = 1000, 8
"""Places that are remembered, and that are followed up once they are seen twice."""

FIRST, LONGEST = 200, 4000
"""Prompts with a text in place of the field, and for each one with the field."""

EACH, STEP = 5000, 8
"""Rows that are all looked at for such a text; behind them, each of so many."""

FILLED, SHARE = 10, 0.1
"""Prompts with a text in place of the field, and for each with the field."""

ALL, FEWEST = 0.9, 50
"""Share of the prompts that have one field where all do, and rows from which on."""

MEANT = 0.05
"""Share of the rows with a field whose answer has one too: there it is meant."""

_FIELD = re.compile(
    r"[${\[](?<![^\s\"'\u201c>].)(?:(?:(?<=\$)\{|(?<=\{))[A-Za-z_][\w.]{2,40}\}"
    r"|(?<=\{)\{ ?[A-Za-z_][\w.]{2,40} ?\}\}"
    rf"|(?<=\[)(?:{'|'.join(NAMES)})\])(?![^\s\"'\u201d<.,;:!?])"
)
_ABOUT = re.compile(
    r"template|place-?holder|variable|f-?string|jinja|mustache|interpolat|fill in",
    re.IGNORECASE,
)
"""A prompt with one of these is about fields."""

Slot = tuple[str, str, str]
"""What stands before a field, the field, and what stands behind it."""


@dataclass(slots=True)
class Followed:
    """One place of a field.

    Attributes
    ----------
    rows
        Those with the field.
    filled
        How many have a text there.
    meant
        How many of those with the field have one in their answer.
    spots
        Row, part and character of the first ones.
    """

    rows: RowSet = field(default_factory=RowSet)
    filled: int = 0
    meant: int = 0
    spots: list[tuple[int, Part, int]] = field(default_factory=list)

    def add(self, place: tuple[int, Part, int], meant: bool) -> None:
        """Take a row with the field in."""
        self.rows.add(place[0])
        self.meant += meant
        if len(self.spots) < KEPT:
            self.spots.append(place)


class UnfilledPrompts:
    r"""Watches the fields in prompts, and what other prompts have there.

    Examples
    --------
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> from ftlab.probes.data.across.unfilled_prompts import UnfilledPrompts
    >>> from ftlab.probes.data.texts.glance import Glances
    >>> glances, fields = Glances(), UnfilledPrompts()
    >>> for at, text in enumerate(["{review}", "{review}", *"abcdefghijkl"]):
    ...     row = {"prompt": f"Review: {text}\nIs it good?", "completion": "Yes."}
    ...     fields.look(at, parts_of(row), glances.at(parts_of(row)))
    >>> [(name, rows.numbers().tolist()) for _, name, rows, _ in fields.found(14)]
    [('{review}', [0, 1])]
    """

    def __init__(self) -> None:
        self._seen: dict[Slot, tuple[tuple[int, Part, int], bool]] = {}
        self._followed: dict[Slot, Followed] = {}
        self._first: list[list[Part]] = []

    def look(self, number: int, row: RowParts, glance: Glance) -> None:
        """Take a row in.

        Parameters
        ----------
        glance
            What was seen of the row.
        """
        found: set[Slot] = set()
        if b"{" in glance.rare or not glance.words.isdisjoint(FIELDS):
            for part in _asked(row):
                if "{" in part.text or "[" in part.text:
                    found.update(self._fields(number, part, row))
        if number < EACH or number % STEP == 0:
            weight = 1 if number < EACH else STEP
            for slot, known in self._followed.items():
                if slot[0] in glance.whole and slot not in found:
                    known.filled += weight * _is_filled(slot, _asked(row))
        if len(self._first) < FIRST:
            asked = _asked(row)
            self._first.append([part for part in asked if len(part.text) <= LONGEST])

    def _fields(self, number: int, part: Part, row: RowParts) -> Iterator[Slot]:
        """Yield the places of the fields in a part, which are remembered."""
        for found in _FIELD.finditer(part.text):
            slot = _slot(part.text, found)
            if len(slot[0].strip()) < SHORTEST and slot[1] != part.text.strip():
                continue
            new = slot not in self._followed and slot not in self._seen
            if new and (len(self._seen) >= KNOWN or _ABOUT.search(part.text)):
                continue
            meant = any("{" in each.text for each in row.parts if is_answer(each))
            self._remember(slot, (number, part, found.start()), meant)
            yield slot

    def _remember(self, slot: Slot, place: tuple[int, Part, int], meant: bool) -> None:
        known = self._followed.get(slot)
        if known is not None:
            known.add(place, meant)
        elif slot not in self._seen:
            self._seen[slot] = place, meant
        elif len(self._followed) < FOLLOWED:
            known = self._followed[slot] = Followed()
            known.add(*self._seen.pop(slot))
            known.add(place, meant)
            known.filled = sum(_is_filled(slot, asked) for asked in self._first)

    def found(
        self, total: int
    ) -> Iterator[tuple[str, str, RowSet, list[tuple[int, Part, int]]]]:
        """Yield kind of fault, field, rows, and the first places.

        Parameters
        ----------
        total
            How many rows there are.
        """
        for slot, known in self._followed.items():
            count = len(known.rows)
            if known.meant >= MEANT * count:
                continue
            if known.filled >= max(FILLED, SHARE * count):
                yield "unfilled-prompt", slot[1], known.rows, known.spots
            elif not known.filled and count >= max(FEWEST, ALL * total):
                yield "field-in-all-prompts", slot[1], known.rows, known.spots


def _asked(row: RowParts) -> list[Part]:
    return [part for part in row.parts if ROLES.get(part.role) in ("u", "s")]


def _slot(text: str, found: re.Match[str]) -> Slot:
    before = text[max(0, found.start() - BEFORE) : found.start()]
    return before, found.group(), text[found.end() : found.end() + BEHIND]


def _is_filled(slot: Slot, asked: list[Part]) -> bool:
    """Tell whether another text stands where a field might."""
    return any(_has_text(slot, part) for part in asked)


def _has_text(slot: Slot, part: Part) -> bool:
    before, name, behind = slot
    at = part.text.find(before)
    if at < 0 or (not before.strip() and ROLES.get(part.role) != "u"):
        return False
    value = part.text[at + len(before) :]
    return not value.startswith(name) and bool(value.strip()) and behind in value
