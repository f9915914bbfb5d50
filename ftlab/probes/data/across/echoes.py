"""Answers that are their whole input again, where all others are something else.

A summary that is its document, a translation that is its source: judged once all rows
are known, for where texts are corrected or simplified many stay as they are.
"""

from ftlab.probes.data.row_sets import RowSet
from ftlab.probes.data.rows.parts import RowParts
from ftlab.probes.data.rows.row_parts import KNOWN_PAIRS

FEWEST, MOST = 50, 0.5
"""Other rows from which on it is told; share of the rows above which it is meant."""

SHORTER, SHARED = 0.6, 0.5
"""Shares of length and of words from which on two texts are alike."""

ALIKE = 0.05
"""Share of the other rows above which answers are like their input on purpose."""

FIRST, STEP = 1000, 16
"""Rows that are all compared, and which of those behind them."""

LONG = 200
"""Characters of a text that is to be shortened: one sentence is its own summary."""

WORDS, LETTERS = 5, 0.9
"""Words in small letters that make a sentence, and share of letters and spaces."""

LOOKED = 500
"""Characters of a text that tell whether it is one."""

_AROUND = ".,;:!?\"'()\u201c\u201d\u2018\u2019\u00ab\u00bb"


class Echoes:
    """Watches pairs of a text and what is written of it.

    Attributes
    ----------
    column
        Of the answers.

    Examples
    --------
    >>> from ftlab.probes.data.across.echoes import Echoes
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> echoes = Echoes()
    >>> for at in range(60):
    ...     text = f"It is a bridge over the river {at}."
    ...     row = {"source": text, "target": text if at == 7 else text[::-1]}
    ...     echoes.look(at, parts_of(row))
    >>> echoes.found(), echoes.column
    ([7], 'target')
    """

    def __init__(self) -> None:
        self.column = ""
        self._same, self._same_long = RowSet(), RowSet()
        self._rows = self._others = self._alike = self._shortened = 0

    def look(self, number: int, read: RowParts) -> None:
        """Take a row in."""
        if read.kind != "prompt and answer" or len(read.parts) != 2:
            return
        asked, answer = read.parts
        if (asked.column, answer.column) in KNOWN_PAIRS:
            return
        self._rows += 1
        source, said = asked.text.strip(), answer.text.strip()
        same = source == said
        if not same and self._rows > FIRST and self._rows % STEP:
            return
        if not is_sentence(source):
            return
        if same:
            self._same.add(number)
            if len(source) >= LONG:
                self._same_long.add(number)
            self.column = answer.column
        else:
            self._others += 1
            self._shortened += len(said) < SHORTER * len(source)
            self._alike += are_alike(source, said)

    def found(self) -> list[int]:
        """Return the rows whose answer is their input."""
        meant = self._alike > ALIKE * self._others or self._others < FEWEST
        if meant or len(self._same) > MOST * self._rows:
            return []
        shortened = 2 * self._shortened > self._others
        return (self._same_long if shortened else self._same).numbers().tolist()


def is_sentence(text: str) -> bool:
    """Tell whether a text is made of words, and no name, title or code.

    Examples
    --------
    >>> from ftlab.probes.data.across.echoes import is_sentence
    >>> is_sentence("The file could not be opened for reading.")
    True
    >>> is_sentence("University of Applied Sciences, Bremen"), is_sentence("a = b + c")
    (False, False)
    """
    text = text[:LOOKED]
    words = [word.strip(_AROUND) for word in text.split()]
    real = (word for word in words if len(word) > 1 and word.isalpha())
    small = sum(word == word.lower() for word in real)
    if small < WORDS:
        return False
    letters = sum(each.isalpha() or each.isspace() for each in text)
    return letters >= LETTERS * len(text)


def are_alike(one: str, two: str) -> bool:
    """Tell whether two texts are as long, and of the same words for the greater part.

    Examples
    --------
    >>> from ftlab.probes.data.across.echoes import are_alike
    >>> are_alike("He go to school.", "He goes to school."), are_alike("yes", "ja")
    (True, False)
    """
    shorter, longer = sorted((one, two), key=len)
    if len(shorter) < SHORTER * len(longer):
        return False
    words, others = set(shorter.split()), set(longer.split())
    return len(words & others) >= SHARED * max(len(words), len(others))
