"""Rows made from one pattern: they differ in names and numbers, and in nothing else.

What a task varies makes its rows different ones, however alike their words are.
"""

import re
from collections import Counter

from ftlab.probes.data.text_store import TextStore, sides_of

LOOKED, FEWEST = 2000, 4
"""Rows in which the pattern of a pair is looked for, and how many of them have it."""

LONGEST = 4000
"""Characters of a prompt that may be made from a pattern."""

_ANY = re.compile(r"\w+")
_WORD = re.compile(r"\d[\d.,]*|[^\W\d]\w*")


class Varied:
    r"""Tells whether two rows differ in what others of their pattern differ in.

    Parameters
    ----------
    texts
        Of all rows.
    rows
        How many of them are trained on: the patterns of these are counted.

    Examples
    --------
    >>> from ftlab.probes.data.text_store import TextStore
    >>> from ftlab.probes.data.across.varied import Varied
    >>> store = TextStore()
    >>> for name in ("Ada", "Kim", "Lin", "Noa", "Uma"):
    ...     store.append(f"{name} reads 3 pages.\x003.\x00")
    >>> Varied(store, 4).tells_apart(0, 4), Varied(store, 3).tells_apart(0, 4)
    (True, False)
    """

    def __init__(self, texts: TextStore, rows: int) -> None:
        self._texts = texts
        self._rows = rows
        self._known: Counter[str] | None = None

    def tells_apart(self, row: int, other: int) -> bool:
        """Tell whether two prompts are of one pattern that several rows have."""
        one, two = self._asked(row), self._asked(other)
        if one == two or max(len(one), len(two)) > LONGEST:
            return False
        own = pattern(one)
        return own == pattern(two) and self._counted()[own] >= FEWEST

    def holds(self, row: int, other: int) -> bool:
        """Tell whether one prompt is the other with words around it, answered alike."""
        (asked, said, _), (asked_too, said_too, _) = (
            map(_words, sides_of(self._texts[each])) for each in (row, other)
        )
        return (
            said == said_too
            and bool(said.strip())
            and (asked in asked_too or asked_too in asked)
        )

    def _asked(self, row: int) -> str:
        asked, answered, _ = sides_of(self._texts[row])
        return asked or answered

    def _counted(self) -> Counter[str]:
        if self._known is None:
            looked = range(0, self._rows, self._rows // LOOKED + 1)
            texts = {text for text in map(self._asked, looked) if len(text) <= LONGEST}
            self._known = Counter(map(pattern, texts))
        return self._known


def _words(text: str) -> str:
    return f" {' '.join(_ANY.findall(text.casefold()))} "


def pattern(text: str) -> str:
    """Return a text without its numbers and the words that begin with a capital.

    Examples
    --------
    >>> from ftlab.probes.data.across.varied import pattern
    >>> pattern("Ada and Kim read 1,200 pages.")
    '_ and _ read # pages.'
    """
    return _WORD.sub(_masked, text)


def _masked(found: re.Match[str]) -> str:
    first = found.group()[0]
    return "#" if first.isdigit() else "_" if first.isupper() else found.group()
