"""Which samples and tokens of the batch the bad values of a tensor belong to."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.replay.capsules.inputs import named_tensors
from ftlab.replay.tracing.finite import measurable

Decode = Callable[[list[int]], str]
"""From token ids to their text."""

_IDS = ("input_ids", "decoder_input_ids", "tokens", "labels")


@dataclass(frozen=True, slots=True)
class TokenSpan:
    """Neighbouring tokens of one sample.

    Attributes
    ----------
    sample
        Row of the batch.
    start, stop
        Half-open range of positions; equal when the whole sample is meant.
    text
        What the tokens say, where a tokenizer is known.

    Examples
    --------
    >>> from ftlab.replay.stops.spans import TokenSpan
    >>> TokenSpan(3, 40, 53, " the year 1987")
    sample 3, tokens 40-52 ' the year 1987'
    >>> TokenSpan(0, 7, 8)
    sample 0, token 7
    """

    sample: int
    start: int = 0
    stop: int = 0
    text: str = ""

    def __repr__(self) -> str:
        words = f"sample {self.sample}"
        if self.stop == self.start + 1:
            words += f", token {self.start}"
        elif self.stop > self.start:
            words += f", tokens {self.start}-{self.stop - 1}"
        return f"{words} {self.text!r}" if self.text else words


def token_ids(batch: Any) -> torch.Tensor | None:
    """Find the token ids in a batch: integers, ``(samples, tokens)``."""
    found = {
        place.strip("'"): tensor
        for place, tensor in named_tensors(batch)
        if tensor.dim() == 2 and not tensor.is_floating_point()
    }
    return next((found[name] for name in _IDS if name in found), None)


def spans_of(
    tensor: torch.Tensor, batch: Any, decode: Decode | None = None, limit: int = 3
) -> tuple[TokenSpan, ...]:
    """Say where the non-finite values of ``tensor`` lie, at most ``limit`` spans.

    A tensor without a dimension for samples gives nothing; so does one that is bad
    throughout, where the place tells nothing.
    """
    ids, values = token_ids(batch), measurable(tensor)
    if ids is None or values is None:
        return ()
    bad = _by_token(~values.isfinite(), *ids.shape)
    if bad is None or not bool(bad.any()) or bool(bad.all()):
        return ()
    spans = []
    for sample, row in enumerate(bad.tolist()):
        whole = len(row) == 1 or all(row)
        runs = [(0, 0)] if whole and any(row) else _runs(row)
        spans += [_span(sample, run, ids, decode) for run in runs]
    return tuple(spans[:limit])


def _by_token(bad: torch.Tensor, samples: int, tokens: int) -> torch.Tensor | None:
    """Reduce to ``(samples, tokens)``, or to ``(samples, 1)`` where only they show.

    Losses are taken over tokens that predict the next one, so one token less also
    counts as all of them.
    """
    sizes = list(bad.shape)
    if len(sizes) > 2 and sizes[0] % samples == 0 and tokens in sizes[1:]:
        bad = bad.reshape(samples, -1, *sizes[1:])  # heads stand beside samples
        sizes = list(bad.shape)
    for length in (tokens, tokens - 1):
        if sizes[:1] == [samples * length]:
            return bad.reshape(samples, length, -1).any(2)
    if sizes[:1] != [samples]:
        return None
    for length in (tokens, tokens - 1):
        if length in sizes[1:]:
            across = bad.movedim(sizes.index(length, 1), 1)
            return across.reshape(samples, length, -1).any(2)
    return bad.reshape(samples, -1).any(1, keepdim=True)


def _runs(row: Sequence[bool]) -> list[tuple[int, int]]:
    edges = [0, *map(int, row), 0]
    pairs = list(enumerate(itertools.pairwise(edges)))
    starts = [i for i, (before, after) in pairs if after > before]
    stops = [i for i, (before, after) in pairs if after < before]
    return list(zip(starts, stops, strict=True))


def _span(
    sample: int, run: tuple[int, int], ids: torch.Tensor, decode: Decode | None
) -> TokenSpan:
    start, stop = run
    text = ""
    if decode is not None and stop > start:
        text = decode(ids[sample, start:stop].tolist())
    return TokenSpan(sample, start, stop, text)
