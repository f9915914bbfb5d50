"""The words of a batch, with the tokens marked that a stop is about."""

from collections.abc import Sequence
from typing import Any

import torch

from ftlab.records.texts import SampleText as SampleText
from ftlab.replay.stops.spans import Decode, TokenSpan, token_ids

BEFORE, WINDOW = 12, 60
"""Tokens shown before the first marked one, and in all."""
UNMARKED = 2
"""Samples shown when no token is marked."""


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
