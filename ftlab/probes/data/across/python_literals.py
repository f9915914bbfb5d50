"""Values that Python wrote with `str` where JSON is wanted: answers, and arguments."""

import ast
import json
import re
from typing import Any

from ftlab.probes.data.across.broken_json import BrokenJson
from ftlab.probes.data.answers.answer_faults import asks_about, is_answer
from ftlab.probes.data.row_sets import RowSet
from ftlab.probes.data.rows.parts import RowParts

FEWEST = 10
"""Answers in JSON from which on it is what all of them should be."""

_OPENINGS = ("{'", "[{'", "['", '[{"', '{"', '["')
_JSON = re.compile(r"\bjson", re.IGNORECASE)
_PYTHON = re.compile(
    r"\bpython\b(?!-)|\bdict|tuple|\brepr\b|literal|\bprint(?:s|ed)?\b|\breturn",
    re.IGNORECASE,
)
"""A prompt with one of these may be answered by a value of Python."""


class PythonLiterals:
    """Keeps the rows whose last answer is a value of Python, and counts JSON.

    Attributes
    ----------
    broken
        The rows whose last answer is neither, and begins as JSON does.

    Examples
    --------
    >>> from ftlab.probes.data.across.python_literals import PythonLiterals
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> literals = PythonLiterals()
    >>> said = {"prompt": "Name it, as JSON.", "completion": "{'name': None}"}
    >>> literals.look(7, parts_of(said))
    >>> literals.found().numbers().tolist()
    [7]
    """

    def __init__(self) -> None:
        self._asked, self._others = RowSet(), RowSet()
        self._json = 0
        self.broken = BrokenJson()

    def look(self, number: int, row: RowParts) -> None:
        """Take a row in."""
        last = row.parts[-1] if row.parts else None
        if last is None or not last.text.startswith(("{", "[")) or not is_answer(last):
            return
        if not last.text.startswith(_OPENINGS) or not is_python(last.text):
            self._json += last.text.startswith(('{"', '[{"', '["'))
            if last.column != "rejected":
                self.broken.look(number, last, row)
        elif last.column != "rejected" and not asks_about(row, _PYTHON):
            rows = self._asked if asks_about(row, _JSON) else self._others
            rows.add(number)

    def found(self) -> RowSet:
        """Return the rows that want JSON: they say so, or most others have it."""
        found = RowSet()
        found.update(self._asked.numbers().tolist())
        if self._json >= max(FEWEST, len(self._others)):
            found.update(self._others.numbers().tolist())
        return found


def is_python(text: str) -> bool:
    """Tell whether a text is a dictionary or a list of Python, and no JSON.

    Examples
    --------
    >>> from ftlab.probes.data.across.python_literals import is_python
    >>> is_python("{'a': None}"), is_python('{"a": null}'), is_python("{'a': 1")
    (True, False, False)
    """
    text = text.strip()
    signs = "'" in text or "None" in text or "True" in text or "False" in text
    if not signs or not text.endswith(("}", "]")) or _is_json(text):
        return False
    try:
        read: Any = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
    return isinstance(read, dict | list)


def _is_json(text: str) -> bool:
    try:
        json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return False
    return True
