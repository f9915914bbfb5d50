r"""Question marks in place of letters, where the other rows have letters of a script.

Scripts without spaces leave no words of question marks, by which a text alone would be
told. Who calls whom: `Scan` gives each row to `LostLetters.look`, and
`report_lost_letters` judges once all rows are read.
"""

import re

from ftlab.probes.data.answers.rejected import last_wanted
from ftlab.probes.data.row_sets import KEPT, RowSet
from ftlab.probes.data.rows.parts import Part, RowParts

RUN, LONG, MARKS = 3, 8, 6
"""Question marks of the longest run, of one beside words, and of all together."""

ALONE = 4
"""Question marks of a text that is nothing else."""

WEAK = 5
"""Texts of question marks alone for each one with something else in it."""

EACH, STEP = 5000, 8
"""Rows whose script is looked at; behind them, each of so many."""

MOST = 0.5
"""Share of the others that have letters which a code page of the West has not."""

_RUN = re.compile(r"(?<![?\w])\?{2,}")
_SCRIPT = re.compile("[\u0370-\u1fff\u3040-\ud7ff\uf900-\ufaff]")


class LostLetters:
    """Watches answers and texts of question marks, and the script of the others.

    Examples
    --------
    >>> from ftlab.probes.data.across.lost_letters import LostLetters
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> lost = LostLetters()
    >>> for at, text in enumerate(["???? GIF ???????", "\u0e40\u0e1b\u0e34\u0e14"]):
    ...     lost.look(at, parts_of({"prompt": "Translate.", "completion": text}))
    >>> lost.found().numbers().tolist()
    [0]
    """

    def __init__(self) -> None:
        self.spots: list[tuple[int, Part, int]] = []
        self._beside, self._alone = RowSet(), RowSet()
        self._seen = self._written = 0

    def look(self, number: int, row: RowParts) -> None:
        """Take a row in."""
        if not row.parts:
            return
        part = row.parts[last_wanted(row)]
        text = part.text
        if "?" in text and "???" in text and self._is_lost(number, part, row):
            return
        if number < EACH or number % STEP == 0:
            self._seen += 1
            self._written += not text.isascii() and _SCRIPT.search(text) is not None

    def _is_lost(self, number: int, part: Part, row: RowParts) -> bool:
        """Tell whether a text may be one that lost its letters, and keep it."""
        text = part.text.strip()
        runs = [len(each) for each in _RUN.findall(text)]
        if not runs or max(runs) < RUN or _SCRIPT.search(text):
            return False
        if any("??" in each.text for each in row.parts if each is not part):
            return False
        several = len(set(runs)) > 1 and sum(runs) >= MARKS
        if several or (max(runs) >= LONG and len(text) > max(runs)):
            self._beside.add(number)
        elif len(text) == max(runs) >= ALONE:
            self._alone.add(number)
        else:
            return False
        if len(self.spots) < KEPT:
            self.spots.append((number, part, part.text.index("??")))
        return True

    def found(self) -> RowSet:
        """Return the rows, if most others have letters of another script."""
        found = RowSet()
        if not self._seen or self._written < MOST * self._seen:
            return found
        found.update(self._beside.numbers().tolist())
        if len(self._alone) <= WEAK * len(self._beside):
            found.update(self._alone.numbers().tolist())
        return found
