"""Answers that belong to the row before or behind: a column was joined one row off.

Rare words of a prompt stand in the answer of a neighbour, and hardly in its own. Who
calls whom: `report_moved` looks at some stretches of the rows, and at all of them if
one of these is off.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ftlab.probes.data.scan import Scan
from ftlab.probes.data.text_store import TextStore, sides_of

STRETCH, STEP = 100, 50
"""Rows that are judged together, and between two beginnings of these."""

TRIED = 20
"""Stretches that are looked at first."""

FEWEST, TIMES = 10, 4
"""Prompts that a neighbour answers, and how many times as many as their own."""

BLOCK, DENSE, OWN = 20, 0.5, 0.3
"""Prompts that a neighbour answers within a part of a stretch, their share of its rows,
and of all other rows those that have their own answer."""

PATIENCE = 3
"""Rows in succession with their own answers that end what was moved."""

COPIED = 40
"""Characters of an answer that a prompt holds which goes on with it."""

LONGEST = 4000
"""Characters of a text that are read."""

_WORD = re.compile(r"[^\W\d]\w{5,}")

NAME = "answer-of-neighbour"

Sides = tuple[str, str]


class Run(NamedTuple):
    """Rows in succession whose answers are those of a neighbour.

    Attributes
    ----------
    first, last
        The first and the last of them that shows it.
    hits, own
        How many show it, and how many have an answer that fits.
    """

    first: int
    last: int
    hits: int
    own: int


def report_moved(scan: Scan) -> None:
    """Report the rows whose answer is that of a neighbour."""
    if scan.texts is None or len(scan.texts) < STRETCH:
        return
    starts = range(0, len(scan.texts) - STRETCH + 1, STEP)
    tried = starts[:: max(len(starts) // TRIED, 1)]
    if not any(_is_moved(_sides(scan.texts, start)) for start in tried):
        return
    for by, where in ((1, "behind"), (-1, "before")):
        for run in runs_of(_all_fits(scan.texts), by):
            if run.hits < FEWEST or run.hits <= TIMES * run.own or not _is_dense(run):
                continue
            # the row that holds the answer of the outermost one has none of its own
            first, last = run.first - (by < 0), run.last + (by > 0)
            says = f"the answer of the row {where} fits, as in those around"
            for row in range(max(first, 0), min(last + 1, len(scan.texts))):
                scan.report(NAME, row, says=says, excerpt=scan.beginning)


def _is_dense(run: Run) -> bool:
    return run.hits * STRETCH >= FEWEST * (run.last - run.first + 1)


def _sides(texts: TextStore, start: int) -> list[Sides]:
    rows = range(start - 1, start + STRETCH + 1)
    return [
        sides_of(texts[row])[:2] if 0 <= row < len(texts) else ("", "") for row in rows
    ]


def _all_fits(texts: TextStore) -> Iterator[tuple[int, set[int]]]:
    """Yield each row with where the fitting answers are."""
    for begin in range(0, len(texts), STRETCH):
        start = min(begin, len(texts) - STRETCH)
        for at, found in _fitting(_sides(texts, start)):
            if start + at - 1 >= begin:
                yield start + at - 1, found


def runs_of(fits: Iterable[tuple[int, set[int]]], by: int) -> Iterator[Run]:
    """Yield rows in succession that fit to the answers so many rows behind.

    Examples
    --------
    >>> from ftlab.probes.data.across.moved_answers import runs_of
    >>> fits = [{0}, {1}, set(), {1}, {0, 1}, {1}, {0}, {0}, {0}, {0}, {1}]
    >>> list(runs_of(enumerate(fits), 1))[0]
    Run(first=1, last=5, hits=3, own=0)
    """
    run, pending = None, 0
    for row, found in fits:
        if run is not None and (pending > PATIENCE or row - run.last > STRETCH):
            yield run
            run = None
        if by in found and 0 not in found:
            known = run or Run(row, row, 0, 0)
            run = Run(known.first, row, known.hits + 1, known.own + pending)
            pending = 0
        elif run is not None:
            pending += 0 in found and by not in found
        pending = pending if run is not None else 0
    if run is not None:
        yield run


def _is_moved(sides: Sequence[Sides]) -> bool:
    """Tell whether the answers of a stretch, or of a part of it, are moved."""
    return moved_by(sides) != 0 or _holds_block(sides)


def _holds_block(sides: Sequence[Sides]) -> bool:
    """Tell whether a part of a stretch is moved, and what is around it is not."""
    fits = list(_fitting(sides))
    own = sum(0 in found for _, found in fits)
    for by in (1, -1):
        for run in runs_of(fits, by):
            rows = run.last - run.first + 1
            around = own - sum(
                0 in found for _, found in fits[run.first - 1 : run.last]
            )
            if run.hits >= max(
                BLOCK, DENSE * rows, FEWEST * run.own
            ) and around >= OWN * (len(fits) - rows):
                return True
    return False


def moved_by(sides: Sequence[Sides]) -> int:
    """Return how many rows behind the fitting answers are: 1, -1, or 0 as it should be.

    Parameters
    ----------
    sides
        What is asked and answered; of the first and the last one only the answers are
        looked at.

    Examples
    --------
    >>> from ftlab.probes.data.across.moved_answers import moved_by
    >>> names = [f"number{'abcdefghijklmnopqrst'[at]}" for at in range(20)]
    >>> asked = [f"What is {name}?" for name in names]
    >>> moved_by([(asked[at], f"{names[at - 1]} is one.") for at in range(1, 20)])
    1
    """
    found = Counter(by for _, fits in _fitting(sides) for by in fits)
    for by in (1, -1):
        if found[by] >= FEWEST and found[by] > TIMES * found[0]:
            return by
    return 0


def _fitting(sides: Sequence[Sides]) -> Iterator[tuple[int, set[int]]]:
    """Yield each row but the first and last one with where fitting answers are."""
    read = [(asked[:LONGEST], said[:LONGEST]) for asked, said in sides]
    for at, words in _rare(read):
        yield at, set(_fits(read, at, words))


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
