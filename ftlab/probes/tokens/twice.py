"""Finds the text that a row of ids begins with, where it stands twice in a row."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ftlab.records.sample_facts import Twice

LEAST = 4
"""Tokens that have to be the same in both places, and different words of a text."""

HEAD = 4
"""Tokens at the beginning that may be others the second time."""

TRIED = 32
"""Places where the text may begin again that are looked at."""

Ids = NDArray[np.int64]


def twice_in(ids: Ids, controls: NDArray[np.bool_], offset: int = 0) -> Twice | None:
    """Return the beginning of a text that is followed by itself, and by more.

    Rows that repeat themselves up to their end, or more than twice, are none.

    Parameters
    ----------
    ids, controls
        A sample, and which of its tokens are control tokens.
    offset
        Position of its first token in the row.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.probes.tokens.twice import twice_in
    >>> row = np.array([1, 5, 6, 7, 8, 5, 6, 7, 8, 9])
    >>> twice_in(row, row == 1)
    Twice(start=1, again=5, end=9, first=(), second=(), controls=0)
    >>> twice_in(row[:-1], row[:-1] == 1)
    """
    words = np.flatnonzero(~controls)
    if not len(words):
        return None
    starts, last = range(min(int(words[0]), HEAD) + 1), int(words[-1])
    known = [[*_from(ids, begin, last)] for begin in range(len(starts) + HEAD)]
    for start in starts:
        for far, same in known[start]:
            if same >= far and _says(ids, controls, start, far):
                return _named(ids, controls, (start, start, far, far), offset)
    for start, begin in ((s, s + more) for s in starts for more in range(HEAD + 1)):
        for far, same in known[begin]:
            if same < far <= same + HEAD and _says(ids, controls, begin, same):
                return _named(ids, controls, (start, begin, far, same), offset)
    return None


def _says(ids: Ids, controls: NDArray[np.bool_], begin: int, length: int) -> bool:
    """Tell a text from a token that stands again and again, such as UNK."""
    part = slice(begin, begin + length)
    return len(np.unique(ids[part][~controls[part]])) >= LEAST


def _from(ids: Ids, begin: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield how far behind the same text stands, and for how many tokens."""
    for far in _distances(ids, begin)[:TRIED].tolist():
        other = np.flatnonzero(ids[begin : len(ids) - far] != ids[begin + far :])
        same = int(other[0]) if len(other) else len(ids)
        if same < 2 * far and begin + far + min(same, far) <= last:
            yield far, same


def _distances(ids: Ids, begin: int) -> NDArray[np.int64]:
    """Return how far behind the first tokens of a text stand once more."""
    count = len(ids) - begin - 2 * LEAST + 1
    if count < 1:
        return np.zeros(0, np.int64)
    here = begin + LEAST
    same = np.ones(count, bool)
    for at in range(LEAST):
        same &= ids[here + at : here + at + count] == ids[begin + at]
    return np.flatnonzero(same) + LEAST


def _named(
    ids: Ids,
    controls: NDArray[np.bool_],
    found: tuple[int, int, int, int],
    offset: int,
) -> Twice:
    start, begin, far, same = found
    return Twice(
        start=offset + start,
        again=offset + begin + same,
        end=offset + begin + far + same,
        first=tuple(ids[start:begin].tolist()),
        second=tuple(ids[begin + same : begin + far].tolist()),
        controls=int(controls[begin : begin + far].sum()),
    )
