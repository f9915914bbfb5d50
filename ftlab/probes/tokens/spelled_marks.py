"""Looks for marks in brackets that a tokenizer has split into common tokens.

Only where no token of the rows ends a text: where one does, such a string is a part of
the text. What comes in one sample alone is not written down.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.probes.tokens.piece_names import piece_names
from ftlab.records.sample_facts import SampleFacts
from ftlab.records.spelled_mark import SpelledMark

POSITIONS = 1 << 14
"""Positions of one step that are read."""

MARKS, PLACES, SAMPLES = 8, 16, 2
"""Strings and places of each that are kept, and the samples that hold such a string."""

_SPACES = "\u0120\u010a\u2581 \n\t"
"""Whitespace, as vocabularies write it too."""

_MARK = re.compile(rf"<([^<>\s@.:=\"'{_SPACES}]{{1,40}})>|\[(/?[A-Za-z_]{{2,20}})\]")

Sample = tuple[SampleFacts, NDArray[np.int64]]
"""A sample and its ids."""

_Place = tuple[int, int, int, int]


def spelled_marks(
    samples: Sequence[Sample], tokenizer: Any, stops: Iterable[int]
) -> tuple[SpelledMark, ...]:
    """Return the strings that several samples hold, the most frequent ones first.

    Parameters
    ----------
    stops
        Ids that end a text.
    """
    held = [ids for _, ids in samples]
    if tokenizer is None or not held:
        return ()
    if np.isin(np.concatenate(held), list(stops)).any():
        return ()
    pieces = _pieces(tokenizer, held)
    found = [_Read(sample, ids, pieces) for sample, ids in _first(samples)]
    return tuple(_marks(found, tokenizer))


def _first(samples: Sequence[Sample]) -> Iterator[Sample]:
    lengths = accumulate(len(ids) for _, ids in samples)
    for sample, length in zip(samples, lengths, strict=True):
        if length <= POSITIONS:
            yield sample


def _pieces(tokenizer: Any, held: Sequence[NDArray[np.int64]]) -> dict[int, str]:
    ids = [n for n in np.unique(np.concatenate(held)).tolist() if n >= 0]
    known = piece_names(tokenizer, ids).items()
    return {n: p.removeprefix("##") if len(p) > 2 else p for n, p in known}


class _Read:
    """One sample, and the last place of each mark in it."""

    def __init__(
        self, sample: SampleFacts, ids: NDArray[np.int64], pieces: Mapping[int, str]
    ) -> None:
        words = [pieces.get(number, "") for number in ids.tolist()]
        self.text = "".join(words)
        self.end = len(self.text.rstrip(_SPACES))
        self.marks: dict[str, _Place] = {}
        self.ends: set[str] = set()
        borders = np.cumsum([0, *map(len, words)])
        for match in _MARK.finditer(self.text):
            first = int(np.searchsorted(borders, match.start(), side="right")) - 1
            last = int(np.searchsorted(borders, match.end(), side="left"))
            if last - first > 1:
                place = sample.micro_batch, sample.row
                at = sample.start + first, sample.start + last
                self.marks[match.group()] = *place, *at
                if match.end() == self.end:
                    self.ends.add(match.group())


def _marks(found: Sequence[_Read], tokenizer: Any) -> Iterator[SpelledMark]:
    held = [each for each in found if each.marks]
    marks = {mark for each in held for mark in each.marks}
    having = {mark: [e for e in held if mark in e.marks] for mark in marks}
    frequent = sorted(marks, key=lambda mark: (-len(having[mark]), mark))
    for mark in frequent[:MARKS]:
        texts = having[mark]
        if len(texts) >= SAMPLES:
            yield SpelledMark(
                _shown(mark, tokenizer),
                len(texts),
                sum(mark in each.ends for each in texts),
                any(_partner(mark) in each.text for each in texts),
                tuple(each.marks[mark] for each in texts[:PLACES]),
            )


def _partner(mark: str) -> str:
    """Return how the tag begins that a mark closes, or the one that closes it."""
    if mark[1] == "/":
        return mark[0] + mark[2:-1]
    return f"{mark[0]}/{mark[1:]}"


def _shown(mark: str, tokenizer: Any) -> str:
    """Return a mark as text, where a vocabulary writes bytes as letters."""
    inner = getattr(tokenizer, "tokenizer", tokenizer)
    try:
        return str(inner.convert_tokens_to_string([mark])).strip() or mark
    except (AttributeError, KeyError, NotImplementedError, TypeError, ValueError):
        return mark
