"""What most rows of a dataset do in one way, and some in another."""

from collections.abc import Iterator
from typing import Any

from ftlab.probes.data.answer_faults import ROLES
from ftlab.probes.data.pictures import has_picture
from ftlab.probes.data.row_parts import RowParts, messages_of
from ftlab.probes.data.row_sets import RowSet

SYSTEMS = 8
"""Different system messages up to which one of them was meant for all rows."""

NAMES = 16
"""Names of speakers that are told apart."""

FIRST = 3
"""Messages of a row whose speakers are heard: a system's, a question, an answer."""

_HEARD = ("u", "a")


class Habits:
    """Watches names of speakers, system messages and pictures.

    Attributes
    ----------
    systems
        The first different system messages that say something.
    pictures
        How many rows hold one.

    Examples
    --------
    >>> from ftlab.probes.data.habits import Habits
    >>> from ftlab.probes.data.row_parts import parts_of
    >>> habits = Habits()
    >>> for at, name in enumerate(("gpt", "gpt", "bot")):
    ...     row = {"conversations": [{"from": name, "value": "Yes."}]}
    ...     _ = list(habits.look(at, row, parts_of(row)))
    >>> habits.named_otherwise()
    [('bot', 'gpt', [2])]
    """

    def __init__(self) -> None:
        self.systems: set[str] = set()
        self.pictures = 0
        self._named: dict[str, RowSet] = {}

    def look(self, number: int, value: Any, read: RowParts) -> Iterator[int]:
        """Take a row in, and yield the places of its empty system messages."""
        self.pictures += has_picture(value, read)
        if read.kind != "messages" or not read.parts:
            return
        for name in _names(value, read):
            if name in self._named or len(self._named) < NAMES:
                self._named.setdefault(name, RowSet()).add(number)
        part = read.parts[0]
        if ROLES.get(part.role) != "s":
            return
        if not part.text.strip() and not part.says_more:
            yield 0
        elif len(self.systems) <= SYSTEMS:
            self.systems.add(part.text)

    @property
    def one_system(self) -> bool:
        """Whether rows with a system message mostly share one of a few."""
        return 0 < len(self.systems) <= SYSTEMS

    def named_otherwise(self) -> list[tuple[str, str, list[int]]]:
        """Return names of speakers, those that are more usual here, and the rows."""
        found = []
        for letter in ("u", "a"):
            names = [n for n in self._named if ROLES.get(n) == letter]
            usual = max(names, key=lambda name: len(self._named[name]), default="")
            for name in names:
                if name != usual:
                    rows = self._named[name].numbers().tolist()
                    found.append((name, usual, rows))
        return found


def _names(value: Any, read: RowParts) -> set[str]:
    """Return the first speakers as the row itself calls them: the others are named so.

    Of two notations in one file, a row has one.
    """
    said = [e for e in messages_of(value, read)[:FIRST] if isinstance(e, dict)]
    names = [e["role"] if "role" in e else e.get("from") for e in said]
    return {n for n in names if isinstance(n, str) and ROLES.get(n) in _HEARD}
