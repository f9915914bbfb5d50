"""Solutions that end their own prompt, in some of the rows of a training by rewards.

Judged once all rows are known: where texts are corrected or copied, and where options
end a prompt, those of other rows end alike.
"""

import re
from collections.abc import Mapping
from typing import Any

from ftlab.probes.data.across.echoes import are_alike
from ftlab.probes.data.row_sets import RowSet
from ftlab.probes.data.rows.parts import Part, RowParts
from ftlab.probes.data.rows.roles import ROLES
from ftlab.probes.data.rows.row_access import mapping_of
from ftlab.probes.data.rows.row_keys import prompt_of

FEWEST, MOST = 5, 0.5
"""Rows from which on it is told; share of the rows above which it is meant."""

LONG = 40
"""Characters from which on a solution that comes again is no chance."""

ALIKE = 0.05
"""Share of the other rows that end in this way, above which prompts have this form."""

FIRST, STEP = 1000, 16
"""Rows that are all compared, and which of those behind them."""

_ASKED = {
    "prompt": ("solution", "answer", "ground_truth"),
    "problem": ("solution",),
    "question": ("answer",),
}
"""Columns of questions, and of what answers to them are compared with."""

_BEFORE = re.compile(r"\S\s*\n\s*\Z|\?\s+\Z")
_LAST = re.compile(r"\n\s*|\?\s+")
"""What stands between a question and what follows it."""

_ENDS = tuple(".?!:;>}])\"'")
"""What a last line ends with that is no bare answer."""


class SolutionLeaks:
    """Watches what ends a prompt.

    Attributes
    ----------
    column
        Of the prompts.

    Examples
    --------
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> from ftlab.probes.data.across.solution_leaks import SolutionLeaks
    >>> leaks = SolutionLeaks()
    >>> for at in range(60):
    ...     left = f" {at + at}" if at % 10 == 3 else ""
    ...     row = {"prompt": f"What is {at} + {at}?{left}", "solution": str(at + at)}
    ...     leaks.look(at, row, parts_of(row))
    >>> leaks.found()
    [3, 13, 23, 33, 43, 53]
    """

    def __init__(self) -> None:
        self.column = ""
        self._long, self._short = RowSet(), RowSet()
        self._rows = self._others = self._alike = self._bare = 0

    def look(self, number: int, row: Mapping[str, Any], read: RowParts) -> None:
        """Take a row in."""
        found = _asked_and_solved(row, read)
        if found is None:
            return
        prompt, solution = found[0].text.strip(), found[1].strip()
        if not solution:
            return
        self._rows += 1
        if prompt.endswith(solution) and _BEFORE.search(prompt[: -len(solution)][-9:]):
            (self._long if len(solution) >= LONG else self._short).add(number)
            self.column = found[0].column
        elif self._rows <= FIRST or self._rows % STEP == 0:
            self._compare(prompt, solution)

    def _compare(self, prompt: str, solution: str) -> None:
        self._others += 1
        line = _LAST.split(prompt)[-1]
        if len(line) == len(prompt):
            return
        self._bare += len(line) < LONG and not line.endswith(_ENDS)
        blocks = prompt.rpartition("\n\n")[-1], line
        self._alike += any(are_alike(each, solution) for each in blocks)

    def found(self) -> list[int]:
        """Return the rows whose prompt ends with its solution."""
        sets = (self._long, self._alike), (self._short, self._bare)
        rows: list[int] = []
        for held, alike in sets:
            meant = alike > ALIKE * self._others or len(held) > MOST * self._rows
            if len(held) >= FEWEST and not meant:
                rows += held.numbers().tolist()
        return sorted(rows)


def _asked_and_solved(
    row: Mapping[str, Any], read: RowParts
) -> tuple[Part, str] | None:
    """Return a prompt, and what answers to it are compared with."""
    if read.kind == "prompt and answer":
        before = prompt_of(read.parts)
        asked = before[-1] if before else None
        if asked is None or len(read.parts) != len(before or ()) + 1:
            return None
        solved = read.parts[-1]
        if solved.column not in _ASKED.get(asked.column, ()):
            return None
        return _said(asked, solved.text)
    if read.kind == "prompt" and read.parts:
        held = row.get("ground_truth")
        if held is None and row.get("reward_model") is not None:
            held = mapping_of(row["reward_model"]).get("ground_truth")
        return _said(read.parts[-1], held)
    return None


def _said(asked: Part, solution: Any) -> tuple[Part, str] | None:
    said = isinstance(solution, str) and ROLES.get(asked.role) == "u"
    return (asked, solution) if said else None
