"""Answers that were all cut at one length: as a limit of generated tokens leaves them.

Many answers are exactly as long as the longest ones, there are hardly any a little
shorter, and these break off where the others come to an end. Where some were cut, and
others that are longer were not, one length stands out in the same way.

Who calls whom: `Scan` gives the last answer of each row to `CutAnswers.add`, which
counts it in tokens, characters and words, each in an `AnswerLengths`.
"""

from array import array
from collections import Counter
from dataclasses import dataclass

from ftlab.probes.data.across.length_spikes import LengthSpikes
from ftlab.probes.data.rows.parts import Part

SHORTEST, SHORTEST_WORDS = 64, 24
"""Length of the longest answers from which on they may have been cut."""

FEWEST, SPIKE = 8, 5.0
"""Answers of that length, and how many times as many as of other long ones."""

OF_ONE_WORD = 30
"""Characters up to which an answer may be one word, as of a class."""

LONG, LONG_SHARE = 60, 0.9
"""Characters above which an answer is long, and share of these where nearly all are."""

BROKEN, OTHERS = 0.6, 0.5
"""Share of them that breaks off, and how much of it the others may have at most."""


@dataclass(frozen=True, slots=True)
class CutLength:
    """The length at which answers end, and how many of these break off.

    Attributes
    ----------
    rows
        The rows of those that break off.
    """

    length: int
    answers: int
    broken: int
    rows: tuple[int, ...]


class CutAnswers:
    """Counts answers by each length that a limit may be set on.

    Examples
    --------
    >>> from ftlab.probes.data.across.answer_lengths import CutAnswers
    >>> from ftlab.probes.data.rows.parts import Part
    >>> answers = CutAnswers()
    >>> for at in range(120):
    ...     said = "It is" + " so." * (at % 40) if at < 100 else "It goes on " * 20
    ...     answers.add(at, Part("answer", -1, "assistant", said), 50 + at)
    >>> unit, found = answers.found()
    >>> unit, found.length, found.broken
    ('characters', 220, 20)
    """

    def __init__(self) -> None:
        self._tokens, self._characters = AnswerLengths(), AnswerLengths()
        self._words = AnswerLengths(SHORTEST_WORDS)
        self._all = self._short = self._long = 0

    @property
    def mostly_short(self) -> bool:
        """Whether more than half of the answers are a word or two."""
        return 2 * self._short > self._all

    @property
    def nearly_all_long(self) -> bool:
        """Whether nearly all answers say more than a line."""
        return self._long >= LONG_SHARE * max(self._all, 1)

    def add(self, number: int, answer: Part, tokens: int) -> None:
        """Take the last answer of a row in."""
        text = answer.text
        size = len(text)
        self._all += 1
        self._short += size <= OF_ONE_WORD
        self._long += size > LONG
        last = text.rstrip()[-1:]
        broken = last.isalnum() or last in (",", "(")
        # where a text is cut behind a number of words, single spaces divide them
        words = text.count(" ") + 1
        self._tokens.add(number, tokens, broken, size)
        self._characters.add(number, size, broken, words)
        self._words.add(number, words, broken, size)

    def found(self) -> tuple[str, CutLength] | None:
        """Return the first unit in which answers were cut, and the length."""
        of = {
            "tokens": self._tokens,
            "characters": self._characters,
            "words": self._words,
        }
        for find in (AnswerLengths.found, AnswerLengths.standing_out):
            found = ((unit, find(lengths)) for unit, lengths in of.items())
            for unit, cut in found:
                if cut is not None:
                    return unit, cut
        return None


class AnswerLengths:
    """Counts answers by length, and those of them that break off.

    Parameters
    ----------
    shortest
        Length of the longest answers from which on they may have been cut.

    Examples
    --------
    >>> from ftlab.probes.data.across.answer_lengths import AnswerLengths
    >>> lengths = AnswerLengths()
    >>> for at in range(100):
    ...     lengths.add(at, 20 + at, False)
    >>> for at in range(100, 120):
    ...     lengths.add(at, 128, True)
    >>> found = lengths.found()
    >>> found.length, found.answers, found.broken
    (128, 20, 20)
    """

    def __init__(self, shortest: int = SHORTEST) -> None:
        self._all: Counter[int] = Counter()
        self._broken: Counter[int] = Counter()
        self._rows, self._sizes = array("q"), array("q")
        self._longest = self._shortest = shortest
        self._spikes = LengthSpikes(shortest)

    def add(self, number: int, length: int, broken: bool, other: int = 0) -> None:
        """Take an answer in, and whether it breaks off.

        Parameters
        ----------
        other
            Its length by another measure.
        """
        self._all[length] += 1
        if not broken:
            return
        self._broken[length] += 1
        self._spikes.add(number, length, other)
        if length < _from(self._longest):
            return
        if length > self._longest:
            self._longest = length
            self._forget(_from(length))
        self._rows.append(number)
        self._sizes.append(length)

    def _forget(self, first: int) -> None:
        pairs = zip(self._rows, self._sizes, strict=True)
        kept = [pair for pair in pairs if pair[1] >= first]
        self._rows = array("q", (row for row, _ in kept))
        self._sizes = array("q", (size for _, size in kept))

    def found(self) -> CutLength | None:
        """Return the length at which answers were cut, if they were."""
        longest = max(self._all, default=0)
        first = _from(longest)
        top, broken = _between(self._all, first), _between(self._broken, first)
        if longest < self._shortest or top < FEWEST or broken < BROKEN * top:
            return None
        beside = _between(self._all, longest // 2) - top
        width = (longest + 1 - first) / max(first - longest // 2, 1)
        others = self._all.total() - top
        rate = (self._broken.total() - broken) / max(others, 1)
        if top < SPIKE * beside * width or rate > OTHERS * broken / top or not others:
            return None
        self._forget(first)
        return CutLength(longest, top, broken, tuple(self._rows))

    def standing_out(self) -> CutLength | None:
        """Return a length at which some answers were cut, and longer ones were not."""
        length = self._spikes.found(self._all)
        if not length:
            return None
        top, broken = self._all[length], self._broken[length]
        others = self._all.total() - top
        rate = (self._broken.total() - broken) / max(others, 1)
        if broken < BROKEN * top or rate > OTHERS * broken / top:
            return None
        return CutLength(length, top, broken, self._spikes.rows(length))


def _from(longest: int) -> int:
    """Return from where on an answer counts as one of the longest.

    What was one number of tokens may be another one when it is tokenised again.
    """
    return longest - max(1, longest // 100)


def _between(lengths: Counter[int], first: int) -> int:
    return sum(count for length, count in lengths.items() if length >= first)
