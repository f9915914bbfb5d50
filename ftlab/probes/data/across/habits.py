"""What most rows of a dataset do in one way, and some in another."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ftlab.probes.data.answers.answer_faults import asks_about, is_answer
from ftlab.probes.data.row_sets import RowSet
from ftlab.probes.data.rows.parts import Part, RowParts
from ftlab.probes.data.rows.pictures import has_picture, is_placed
from ftlab.probes.data.rows.roles import ROLES
from ftlab.probes.data.rows.row_access import messages_of
from ftlab.probes.data.texts.written_forms import LITERALS, is_json_text

SYSTEMS = 8
"""Different system messages up to which one of them was meant for all rows."""

NAMES = 32
"""Successions of speakers that are told apart."""

FIRST = 3
"""Messages of a row whose speakers are heard: a system's, a question, an answer."""

_LETTERS = ("u", "a")
_HEARD = frozenset(name for name, letter in ROLES.items() if letter in _LETTERS)


class Habits:
    """Watches names of speakers, system messages and pictures.

    Attributes
    ----------
    systems
        The first different system messages that say something.
    pictures
        How many rows hold one.
    placed, unplaced
        How many rows say where the picture of their column goes, and those that do not.
    quoted, escaped
        Rows whose whole answer is a text of JSON in quotes; how many of these hold an
        escape, which nothing but JSON writes.

    Examples
    --------
    >>> from ftlab.probes.data.across.habits import Habits
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> habits = Habits()
    >>> for at, name in enumerate(("gpt", "gpt", "bot")):
    ...     row = {"conversations": [{"from": name, "value": "Yes."}]}
    ...     _ = habits.look(at, row, parts_of(row))
    >>> habits.named_otherwise()
    [('bot', 'gpt', [2])]
    """

    def __init__(self) -> None:
        self.systems: set[str] = set()
        self.pictures = self.placed = 0
        self.unplaced = RowSet()
        self.quoted, self.escaped = RowSet(), 0
        self._named: dict[tuple[str, ...], RowSet] = {}

    def look(self, number: int, row: Mapping[str, Any], read: RowParts) -> Part | None:
        """Take a row in, and return its system message if that says nothing."""
        if has_picture(row, read):
            self._look_at_picture(number, row, read)
        self._look_at_quotes(number, read)
        if read.kind != "messages" or not read.parts:
            return None
        names = _names(row, read)
        known = self._named.get(names)
        if known is not None:
            known.add(number)
        elif len(self._named) < NAMES:
            self._named[names] = RowSet()
            self._named[names].add(number)
        part = read.parts[0]
        if ROLES.get(part.role) != "s":
            return None
        if not part.text.strip() and not part.says_more:
            return part
        if len(self.systems) <= SYSTEMS:
            self.systems.add(part.text)
        return None

    def _look_at_picture(
        self, number: int, row: Mapping[str, Any], read: RowParts
    ) -> None:
        self.pictures += 1
        placed = is_placed(row, read)
        self.placed += placed is True
        if placed is False:
            self.unplaced.add(number)

    def _look_at_quotes(self, number: int, read: RowParts) -> None:
        text = read.parts[-1].text if read.parts else ""
        if not (text.startswith('"') and text.endswith('"')):
            return
        if not is_answer(read.parts[-1]) or asks_about(read, LITERALS):
            return
        if is_json_text(text):
            self.quoted.add(number)
            self.escaped += "\\" in text

    @property
    def one_system(self) -> bool:
        """Whether rows with a system message mostly share one of a few."""
        return 0 < len(self.systems) <= SYSTEMS

    def named_otherwise(self) -> list[tuple[str, str, list[int]]]:
        """Return names of speakers, those that are more usual here, and the rows."""
        found = []
        known = dict.fromkeys(name for names in self._named for name in names)
        for letter in _LETTERS:
            rows = {n: self._rows_of(n) for n in known if ROLES.get(n) == letter}
            usual = max(rows, key=lambda name: len(rows[name]), default="")
            found += [(n, usual, rows[n]) for n in sorted(rows) if n != usual]
        return found

    def _rows_of(self, name: str) -> list[int]:
        sets = [rows.numbers() for names, rows in self._named.items() if name in names]
        return np.unique(np.concatenate(sets)).tolist()


def _names(row: Mapping[str, Any], read: RowParts) -> tuple[str, ...]:
    """Return the first speakers as the row itself calls them: the others are named so.

    Of two notations in one file, a row has one.
    """
    names: list[Any] = [
        each["role"] if "role" in each else each.get("from")
        for each in messages_of(row, read)[:FIRST]
        if isinstance(each, dict)
    ]
    return tuple([n for n in names if isinstance(n, str) and n in _HEARD])
