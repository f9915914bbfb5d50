"""Answers in JSON that no program reads, where the others can be read.

What breaks off, is a value of Python or goes on behind its end has a cause of its own.
Who calls whom: `PythonLiterals` gives answers that begin as JSON to `BrokenJson.look`,
and `report_literals` judges once all rows are read.
"""

import json
import re

from ftlab.probes.data.answers.answer_faults import asks_about
from ftlab.probes.data.answers.open_json import BEGINS, open_json
from ftlab.probes.data.row_sets import KEPT, RowSet
from ftlab.probes.data.rows.parts import Part, RowParts

FEWEST, SHARE = 20, 0.9
"""Answers that can be read from which on all should be, and their share of all."""

_ASKED = re.compile(
    r"invalid|broken|malformed|\bfix\b|json5|jsonc|javascript|typescript"
    r"|with (?:\w+ )?comments|template|place-?holder|jinja",
    re.IGNORECASE,
)
"""A prompt with one of these may be answered by what only looks like JSON."""


class BrokenJson:
    """Keeps the rows whose answer begins as JSON and is none, and counts JSON.

    Attributes
    ----------
    spots
        Row, part, character and reason of the first ones.

    Examples
    --------
    >>> from ftlab.probes.data.across.broken_json import BrokenJson
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> answers = BrokenJson()
    >>> for at in range(40):
    ...     said = '{"size": 3}' if at else '{"size": 3,}'
    ...     row = parts_of({"prompt": "How large?", "completion": said})
    ...     answers.look(at, row.parts[1], row)
    >>> answers.found().numbers().tolist()
    [0]
    """

    def __init__(self) -> None:
        self.spots: list[tuple[int, Part, int, str]] = []
        self._rows, self._whole = RowSet(), 0

    def look(self, number: int, answer: Part, row: RowParts) -> None:
        """Take an answer in."""
        text = answer.text
        if not BEGINS.match(text):
            return
        try:
            json.loads(text, strict=False)
        except json.JSONDecodeError as error:
            if error.msg != "Extra data" and not open_json(text):
                self._keep(number, answer, row, error)
        except (ValueError, RecursionError):  # a number with thousands of digits
            pass
        else:
            self._whole += 1

    def _keep(
        self, number: int, answer: Part, row: RowParts, error: json.JSONDecodeError
    ) -> None:
        if asks_about(row, _ASKED):
            return
        self._rows.add(number)
        if len(self.spots) < KEPT:
            self.spots.append((number, answer, error.pos, f"no JSON: {error.msg}"))

    def found(self) -> RowSet:
        """Return the rows, if nearly all other answers can be read."""
        every = self._whole + len(self._rows)
        return self._rows if self._whole >= max(FEWEST, SHARE * every) else RowSet()
