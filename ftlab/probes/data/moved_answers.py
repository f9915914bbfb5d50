"""Answers that belong to the row before or behind: a column was joined one row off.

Rare words of a prompt stand in the answer of a neighbour, and hardly in its own. Who
calls whom: `report_moved` looks at some stretches of the rows, and at all of them if
one of these is off.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from ftlab.probes.data.scan import Scan
from ftlab.probes.data.text_store import sides_of

STRETCH, STEP = 100, 50
"""Rows that are judged together, and between two beginnings of these."""

TRIED = 20
"""Stretches that are looked at first."""

FEWEST, TIMES = 10, 4
"""Prompts that a neighbour answers, and how many times as many as their own."""

COPIED = 40
"""Characters of an answer that a prompt holds which goes on with it."""

LONGEST = 4000
"""Characters of a text that are read."""

_WORD = re.compile(r"[^\W\d]\w{5,}")

Sides = tuple[str, str]


def report_moved(scan: Scan) -> None:
    """Report the rows whose answer is that of a neighbour."""
    if scan.texts is None or len(scan.texts) < STRETCH:
        return
    starts = range(0, len(scan.texts) - STRETCH + 1, STEP)
    tried = starts[:: max(len(starts) // TRIED, 1)]
    if not any(_moved(scan, start) for start in tried):
        return
    for start in starts:
        by = _moved(scan, start)
        for row in range(start, start + STRETCH) if by else ():
            where = "behind" if by > 0 else "before"
            says = f"the answer of the row {where} fits, as in those around"
            scan.report("answer-of-neighbour", row, says=says, excerpt=scan.beginning)


def _moved(scan: Scan, start: int) -> int:
    texts = scan.texts
    if texts is None:
        return 0
    rows = range(start - 1, start + STRETCH + 1)
    sides = [
        sides_of(texts[row])[:2] if 0 <= row < len(texts) else ("", "") for row in rows
    ]
    return moved_by(sides)


def moved_by(sides: Sequence[Sides]) -> int:
    """Return how many rows behind the fitting answers are: 1, -1, or 0 as it should be.

    Parameters
    ----------
    sides
        What is asked and answered; of the first and the last one only the answers are
        looked at.

    Examples
    --------
    >>> from ftlab.probes.data.moved_answers import moved_by
    >>> names = [f"number{'abcdefghijklmnopqrst'[at]}" for at in range(20)]
    >>> asked = [f"What is {name}?" for name in names]
    >>> moved_by([(asked[at], f"{names[at - 1]} is one.") for at in range(1, 20)])
    1
    """
    read = [(asked[:LONGEST], said[:LONGEST]) for asked, said in sides]
    found = Counter(by for at, words in _rare(read) for by in _fits(read, at, words))
    for by in (1, -1):
        if found[by] >= FEWEST and found[by] > TIMES * found[0]:
            return by
    return 0


def _rare(sides: Sequence[Sides]) -> Iterator[tuple[int, set[str]]]:
    """Yield the words of each prompt that no other one of these has."""
    words = [set(_WORD.findall(asked)) for asked, _ in sides]
    rows = Counter(word for each in words for word in each)
    for at in range(1, len(sides) - 1):
        yield at, {word for word in words[at] if rows[word] == 1}


def _fits(sides: Sequence[Sides], at: int, words: set[str]) -> Iterator[int]:
    """Yield whose answers hold a rare word of a prompt that does not go on with it."""
    asked = sides[at][0]
    for by in (-1, 0, 1):
        said = sides[at + by][1]
        goes_on = by and said[:COPIED] and said[:COPIED] in asked
        if not goes_on and any(word in said for word in words):
            yield by
