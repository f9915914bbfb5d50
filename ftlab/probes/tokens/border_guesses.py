"""Where a prompt would end, had its length been counted in something else."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.records.sample_facts import BorderGuess, SampleFacts

CLOSING = 2
"""Tokens in front of a guessed place that are kept."""

LONGEST = 1024
"""Tokens of a prompt above which nothing is decoded."""

SLACK = 1
"""Characters at the end of a prompt that may belong to the answer's first token."""

Ids = NDArray[np.int64]
Text = Callable[[int], str]


def border_guesses(
    sample: SampleFacts, ids: Ids, special: Mapping[str, frozenset[int]], tokenizer: Any
) -> Iterator[BorderGuess]:
    """Yield the places at which a sample's prompt may end instead of where it does.

    Parameters
    ----------
    ids
        Of its row.
    """
    if not sample.exact or sample.documents != 1 or len(sample.stretches) != 1:
        return
    border = sample.stretches[0].start
    if border <= sample.start:
        return
    if sample.start and sample.start + border < sample.end:
        yield _guess("columns", sample.start + border, ids)
    count = border - sample.start
    if tokenizer is None or not CLOSING < count <= LONGEST:
        return
    opens = int(ids[sample.start]) in special.get("bos", frozenset())
    for skipped in (0, 1) if opens else (0,):
        first = sample.start + skipped
        text = _reader(ids[first : min(sample.end, first + 4 * count)], tokenizer)
        place = _by_characters(text, count, min(sample.end - first, 4 * count))
        if place > CLOSING:
            unit = "characters without BOS" if skipped else "characters"
            yield _guess(unit, first + place, ids)


def _guess(unit: str, place: int, ids: Ids) -> BorderGuess:
    return BorderGuess(unit, place, tuple(ids[place - CLOSING : place].tolist()))


def _reader(ids: Ids, tokenizer: Any) -> Text:
    inner = getattr(tokenizer, "tokenizer", tokenizer)
    known = ids.tolist()

    def text(length: int) -> str:
        try:
            return str(inner.decode(known[:length]))
        except Exception:  # noqa: BLE001  any tokenizer, with any ids
            return ""

    return text


def _by_characters(text: Text, count: int, most: int) -> int:
    """Return how many tokens have so many characters, or 0."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if len(text(middle)) <= count:
            low = middle
        else:
            high = middle - 1
    left = count - len(text(low))
    if left > SLACK or low == most:
        return 0
    return low if not left or text(low + 1)[count - left].isspace() else 0
