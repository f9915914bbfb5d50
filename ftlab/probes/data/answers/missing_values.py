"""Missing values that became the text of an answer: ``nan``, ``None``, ``null``.

Where answers are short such a word may be one: they are told where nearly all others
say more than a line.
"""

import re

from ftlab.probes.data.row_sets import RowSet
from ftlab.probes.data.rows.parts import RowParts, is_answer

VALUES = frozenset(
    {"nan", "NaN", "<NA>", "NaT", "None", "none", "null", "NULL", "N/A", "undefined"}
    | {"#N/A", "#REF!", "#VALUE!", "#NAME?", "#DIV/0!"}
)
"""What programs write where a value is missing."""

LONGEST, LONG, SHARE = 9, 60, 0.9
"""Characters of such a word, those from which on an answer is long, and the share of
the others that are."""

FEWEST = 20
"""Other answers from which on it is told."""

_ASKED = re.compile(
    r"\bnone\b|\bnull\b|\bnan\b|\bn/?a\b|undefined|nothing|empty|python|javascript"
    r"|\bprint|\breturns?\b|\boutputs?\b|\bsql\b|\bjson\b|\bvalue|excel|formula",
    re.IGNORECASE,
)
"""A prompt with one of these may be answered so."""


class MissingValues:
    """Keeps the rows whose last answer is such a word.

    Attributes
    ----------
    column
        Of the answers.

    Examples
    --------
    >>> from ftlab.probes.data.answers.missing_values import MissingValues
    >>> from ftlab.probes.data.rows.formats import parts_of
    >>> values = MissingValues()
    >>> for at in range(40):
    ...     said = "It is so, as everybody knows who has ever looked at it. " * 2
    ...     row = {"prompt": "Why?", "completion": said if at else "nan"}
    ...     values.look(at, parts_of(row))
    >>> values.found()
    [0]
    """

    def __init__(self) -> None:
        self.column = ""
        self._rows = RowSet()
        self._others = self._long = 0

    def look(self, number: int, row: RowParts) -> None:
        """Take a row in."""
        last = row.parts[row.last_wanted] if row.parts else None
        if last is None or not is_answer(last):
            return
        text = last.text
        said = text.strip() if len(text) <= LONGEST else ""
        if said in VALUES and not last.says_more and not row.asks_about(_ASKED):
            self._rows.add(number)
            self.column = last.column
        else:
            self._others += 1
            self._long += len(text) > LONG

    def found(self) -> list[int]:
        """Return the rows, if nearly all other answers are long."""
        if self._long < max(FEWEST, SHARE * self._others):
            return []
        return self._rows.numbers().tolist()
