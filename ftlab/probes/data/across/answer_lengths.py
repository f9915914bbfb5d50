"""Answers that were cut at one length: as a limit of generated tokens leaves them.

Far more answers have that length than those around it, and they break off there, where
the others come to an end.

Who calls whom: `Scan` gives the last answer of each row to `AnswerLengths.add`, which
counts it in tokens, characters and words.
"""

from array import array
from collections import Counter
from dataclasses import dataclass

SHORTEST = {"tokens": 64, "characters": 64, "words": 24}
"""Length from which on answers may have been cut, by what a limit is set on."""

FEWEST, TIMES, TIMES_WITHIN = 8, 5.0, 10.0
"""Answers of that length, and how many times as many as of the lengths around it: where
none is longer, and where some are."""

WITHIN = 0.5
"""Share of the answers above which one length is how they are made."""

BROKEN, OTHERS = 0.6, 0.5
"""Share of them that breaks off, and how much of it the others may have at most."""

VARIOUS = 4
"""Other measures that answers of one length have, where they differ as prose does."""

TRIED, KEPT = 4, 1 << 20
"""Lengths that are tried, and answers that are remembered with their rows."""


@dataclass(frozen=True, slots=True)
class CutLength:
    """The length at which answers end, and how many of these break off.

    Attributes
    ----------
    rows
        The rows of those that break off.
    """

    unit: str
    length: int
    answers: int
    broken: int
    rows: tuple[int, ...]


class AnswerLengths:
    """Counts answers by their length, and those of them that break off.

    Examples
    --------
    >>> from ftlab.probes.data.across.answer_lengths import AnswerLengths
    >>> answers = AnswerLengths()
    >>> for at in range(120):
    ...     said = "It is" + " so." * (at % 40) if at < 100 else "It goes on " * 20
    ...     answers.add(at, said, 50 + at)
    >>> found = answers.found()
    >>> found.unit, found.length, found.broken
    ('characters', 220, 20)
    """

    def __init__(self) -> None:
        self._all: dict[str, Counter[int]] = {unit: Counter() for unit in SHORTEST}
        self._broken = {unit: array("q") for unit in SHORTEST}
        self._rows = array("q")

    def add(self, number: int, text: str, tokens: int) -> None:
        """Take the last answer of a row in."""
        # where a text is cut behind a number of words, single spaces divide them
        sizes = {
            "tokens": tokens,
            "characters": len(text),
            "words": text.count(" ") + 1,
        }
        for unit, size in sizes.items():
            self._all[unit][size] += 1
        last = text.rstrip()[-1:]
        if (last.isalnum() or last in (",", "(")) and len(self._rows) < KEPT:
            self._rows.append(number)
            for unit, size in sizes.items():
                self._broken[unit].append(size)

    def found(self) -> CutLength | None:
        """Return the first unit in which answers were cut, and the length."""
        for within in (False, True):
            # what was cut by characters or words stands out in tokens as well
            units = list(SHORTEST)[::-1] if within else list(SHORTEST)
            for unit in units:
                lengths = self._all[unit]
                longest = max(lengths, default=0)
                broken = Counter(self._broken[unit])
                often = [length for length, _ in broken.most_common(TRIED)]
                for length in often if within else [longest]:
                    if length >= SHORTEST[unit] and self._is_cut(unit, length, within):
                        return self._cut(unit, length)
        return None

    def _is_cut(self, unit: str, length: int, within: bool) -> bool:
        """Tell whether answers of a length are far too many, and break off."""
        lengths, broken = self._all[unit], Counter(self._broken[unit])
        first = _from(length)
        top, cut = _between(lengths, first, length), _between(broken, first, length)
        others = lengths.total() - top
        if top < FEWEST or cut < BROKEN * top or not others:
            return False
        if (broken.total() - cut) / others > OTHERS * cut / top:
            return False
        if not within:
            beside = _between(lengths, length // 2, first - 1)
            width = (length + 1 - first) / max(first - length // 2, 1)
            return top >= TIMES * beside * width
        around = max(length // 10, 5)
        beside = _between(lengths, length - around, length + around) - top
        rate = beside / (2 * around + first - length)
        count = lengths[length]
        other = "characters" if unit == "words" else "words"
        pairs = zip(self._broken[unit], self._broken[other], strict=True)
        various = len({its for mine, its in pairs if mine == length}) >= VARIOUS
        often = count >= max(FEWEST, TIMES_WITHIN * (rate + 1))
        return various and often and count <= WITHIN * lengths.total()

    def _cut(self, unit: str, length: int) -> CutLength:
        first = _from(length)
        pairs = zip(self._rows, self._broken[unit], strict=True)
        rows = tuple(row for row, size in pairs if first <= size <= length)
        top = _between(self._all[unit], first, length)
        return CutLength(unit, length, top, len(rows), rows)


def _from(length: int) -> int:
    """Return from where on an answer counts as one of a length.

    What was one number of tokens may be another one when it is tokenised again.
    """
    return length - max(1, length // 100)


def _between(lengths: Counter[int], first: int, last: int) -> int:
    return sum(count for size, count in lengths.items() if first <= size <= last)
