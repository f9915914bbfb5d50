"""Verdicts on completions that are texts: "False" is as true as "True" is."""

import re

from ftlab.probes.data.row_sets import RowSet
from ftlab.probes.data.rows.parts import RowParts

NO, YES = frozenset({"false", "no", "0"}), frozenset({"true", "yes", "1"})

HEAD, TAIL = 20, 30
"""Characters at both ends of a completion in which it may give its label."""

GIVEN = 0.3
"""Share of the completions that give their label from which on it is the answer."""

KNOWN, SAID = 200, 0.2
"""Completions that are told apart, and how many of the rows differ at least."""

_WORD = re.compile(r"\w+")


class TextVerdicts:
    """Watches the labels beside a prompt and its completion, which judge it.

    A label that the completions say themselves is what they answer, and one beside a
    few classes is their number.

    Examples
    --------
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> from ftlab.probes.data.across.text_verdicts import TextVerdicts
    >>> verdicts = TextVerdicts()
    >>> for at in range(4):
    ...     row = {"prompt": "Why?", "completion": f"By {at}.", "label": str(at > 2)}
    ...     verdicts.look(at, parts_of(row))
    >>> verdicts.found()
    [0, 1, 2, 3]
    """

    def __init__(self) -> None:
        self._rows = RowSet()
        self._seen: set[str] = set()
        self._said: set[int] = set()
        self._given = 0
        self._others = False

    def look(self, number: int, read: RowParts) -> None:
        """Take a row in."""
        if not isinstance(read.label, str) or self._others or not read.parts:
            return
        label, last = read.label.strip().casefold(), read.parts[-1]
        if last.column != "completion" or label not in NO | YES:
            self._others = True
            return
        self._rows.add(number)
        self._seen.add(label)
        if len(self._said) < KNOWN:
            self._said.add(hash(last.text))
        ends = f"{last.text[:HEAD]} {last.text[-TAIL:]}".casefold()
        self._given += label in _WORD.findall(ends)

    def found(self) -> list[int]:
        """Return the rows, if both verdicts occur and nothing else does."""
        count = len(self._rows)
        both = not self._seen.isdisjoint(NO) and not self._seen.isdisjoint(YES)
        if self._others or not both or self._given > GIVEN * count:
            return []
        several = len(self._said) >= min(KNOWN, SAID * count)
        return self._rows.numbers().tolist() if several else []
