"""The words of a batch, with the tokens marked that a stop is about."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.replay.stops.spans import Decode, TokenSpan, token_ids

BEFORE, WINDOW = 12, 60
"""Tokens shown before the first marked one, and in all."""
UNMARKED = 2
"""Samples shown when no token is marked."""


@dataclass(frozen=True, slots=True)
class SampleText:
    """A part of one sample.

    Attributes
    ----------
    sample
        Row of the batch.
    start, length
        Position of the first token that is shown, and tokens of the whole sample.
    pieces
        The tokens' texts; their ids where no tokenizer is known.
    marked
        For each of them whether a bad value belongs to it.

    Examples
    --------
    >>> from ftlab.replay.stops.batch_text import SampleText
    >>> SampleText(0, 8, 12, ("the", "year"), (False, True))
    sample 0: ...'the' >'year'< ...
    """

    sample: int
    start: int
    length: int
    pieces: tuple[str, ...]
    marked: tuple[bool, ...]

    def __repr__(self) -> str:
        parts = [
            f">{text!r}<" if bad else repr(text)
            for text, bad in zip(self.pieces, self.marked, strict=True)
        ]
        left = "..." if self.start else ""
        right = " ..." if self.start + len(self.pieces) < self.length else ""
        return f"sample {self.sample}: {left}{' '.join(parts)}{right}"


def batch_text(
    batch: Any, spans: Sequence[TokenSpan], decode: Decode | None
) -> tuple[SampleText, ...]:
    """Return the samples that ``spans`` name, or the first ones when there are none."""
    ids = token_ids(batch)
    if ids is None:
        return ()
    samples = sorted({span.sample for span in spans}) or range(min(len(ids), UNMARKED))
    return tuple(_sample(ids, sample, spans, decode) for sample in samples)


def _sample(
    ids: torch.Tensor, sample: int, spans: Sequence[TokenSpan], decode: Decode | None
) -> SampleText:
    own = [span for span in spans if span.sample == sample]
    length = ids.shape[1]
    ranges = [
        range(span.start, span.stop) if span.stop > span.start else range(length)
        for span in own
    ]
    first = min((each.start for each in ranges), default=0)
    start = max(first - BEFORE, 0)
    row = ids[sample, start : start + WINDOW].tolist()
    texts = [str(each) if decode is None else decode([each]) for each in row]
    at = range(start, start + len(row))
    marked = tuple(any(position in each for each in ranges) for position in at)
    return SampleText(sample, start, length, tuple(texts), marked)
