"""Lengths that far too many answers have, which break off there.

A limit on characters or words that only some answers were stored with: as many others
are longer, and what they say at that length is as various as their number of words.
"""

from array import array
from collections import Counter

FEWEST, TIMES = 10, 10.0
"""Answers of one length, and how many times as many as of the lengths around it."""

AROUND = 10
"""The lengths around one are a tenth of it, on both sides."""

MOST = 0.5
"""Share of the answers above which one length is how they are made."""

VARIOUS = 4
"""Other measures that answers of one length have, where they differ as prose does."""

KEPT, FOLLOWED = 50_000, 4
"""Rows that are remembered, and lengths that are followed up behind these."""


class LengthSpikes:
    """Counts answers that break off by their length.

    Parameters
    ----------
    shortest
        Length from which on answers may have been cut.

    Examples
    --------
    >>> from collections import Counter
    >>> from ftlab.probes.data.across.length_spikes import LengthSpikes
    >>> spikes = LengthSpikes(64)
    >>> for at in range(20):
    ...     spikes.add(at, 80, at)
    >>> spikes.found(Counter({**dict.fromkeys(range(20, 200), 1), 80: 21}))
    80
    >>> len(spikes.rows(80))
    20
    """

    def __init__(self, shortest: int) -> None:
        self._shortest = shortest
        self._broken: Counter[int] = Counter()
        self._seen: dict[int, int] = {}
        self._rows, self._sizes = array("q"), array("q")
        self._followed: frozenset[int] = frozenset()

    def add(self, number: int, length: int, other: int) -> None:
        """Take an answer in that breaks off.

        Parameters
        ----------
        other
            The length by another measure.
        """
        if length < self._shortest or (self._followed and length not in self._followed):
            return
        self._broken[length] += 1
        self._seen[length] = self._seen.get(length, 0) | 1 << other % 64
        self._rows.append(number)
        self._sizes.append(length)
        if len(self._rows) > KEPT and not self._followed:
            self._follow()

    def _follow(self) -> None:
        most = self._broken.most_common(FOLLOWED)
        self._followed = frozenset(length for length, _ in most)
        pairs = zip(self._rows, self._sizes, strict=True)
        kept = [pair for pair in pairs if pair[1] in self._followed]
        self._rows = array("q", (row for row, _ in kept))
        self._sizes = array("q", (size for _, size in kept))

    def found(self, lengths: Counter[int]) -> int:
        """Return the length that stands out most; 0 where none does.

        Parameters
        ----------
        lengths
            All answers by length, those that come to an end too.
        """
        for length, count in self._broken.most_common(FOLLOWED):
            various = self._seen[length].bit_count() >= VARIOUS
            if count >= FEWEST and various and _stands_out(length, lengths):
                return length
        return 0

    def rows(self, length: int) -> tuple[int, ...]:
        """Return the rows of the answers that break off at a length."""
        pairs = zip(self._rows, self._sizes, strict=True)
        return tuple(row for row, size in pairs if size == length)


def _stands_out(length: int, lengths: Counter[int]) -> bool:
    """Tell whether a length is had far more often than those around it.

    Where the blank before a cut was taken away, one letter or two are missing.
    """
    width = max(length // AROUND, 5)
    near = [*range(length - width, length - 2), *range(length + 3, length + width + 1)]
    beside = sum(lengths[each] for each in near) / len(near)
    few = lengths[length] <= MOST * lengths.total()
    return few and lengths[length] >= TIMES * (beside + 1)
