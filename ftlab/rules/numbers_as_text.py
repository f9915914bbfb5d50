"""Blocks that were chosen by a part of their number's text: "layers.1" is in 10 too."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

_BLOCK = re.compile(r"(.*?)\.(\d+)\.")

_WAYS = {
    "begins with": str.startswith,
    "ends with": str.endswith,
    "holds": str.__contains__,
}


@dataclass(frozen=True, slots=True)
class Mistaken:
    """What a comparison of text has chosen.

    Attributes
    ----------
    digits
        What was looked for, the number that was meant most likely.
    way
        Where it is in the numbers, in words.
    blocks
        Path of the list of blocks.
    numbers
        Those that were chosen.
    """

    digits: str
    way: str
    blocks: str
    numbers: tuple[int, ...]

    def beyond(self, name: str) -> bool:
        """Tell whether ``name`` stands in a block that was hardly meant."""
        found = _BLOCK.match(name)
        return found is not None and found[2] != self.digits


def chosen_by_text(
    names: Iterable[str], patterns: Mapping[str, int]
) -> Mistaken | None:
    """Tell whether blocks were chosen because their numbers are alike as text.

    Parameters
    ----------
    names
        Of what was chosen; the first number in a name is its block's.
    patterns
        How many layers there are, by names without their numbers.

    Returns
    -------
    Mistaken or None
        ``None`` also for one block alone, and for blocks at equal distances.

    Examples
    --------
    >>> from ftlab.rules.numbers_as_text import chosen_by_text
    >>> chosen_by_text(["h.1.attn", "h.10.attn", "h.11.attn"], {"h.#.attn": 12}).way
    'begins with'
    >>> chosen_by_text(["h.0.attn", "h.1.attn", "h.2.attn"], {"h.#.attn": 12})
    """
    chosen: dict[str, set[int]] = defaultdict(set)
    for name in names:
        if found := _BLOCK.match(name):
            chosen[found[1]].add(int(found[2]))
    for blocks, numbers in chosen.items():
        digits = str(min(numbers))
        if _is_even(sorted(numbers)):
            continue
        for way, holds in _WAYS.items():
            every = range(_length(blocks, patterns))
            if numbers == {each for each in every if holds(str(each), digits)}:
                return Mistaken(digits, way, blocks, tuple(sorted(numbers)))
    return None


def _is_even(numbers: list[int]) -> bool:
    """Tell one number, neighbours, and three or more at equal distances."""
    gaps = {after - before for before, after in pairwise(numbers)}
    return len(numbers) < 2 or gaps == {1} or (len(gaps) == 1 and len(numbers) > 2)


def _length(blocks: str, patterns: Mapping[str, int]) -> int:
    """Return how many blocks a list has, where one layer of each tells it."""
    counts = (
        count
        for pattern, count in patterns.items()
        if pattern.count("#") == 1
        and f".{blocks}".endswith(f".{pattern.partition('.#')[0]}")
    )
    return max(counts, default=0)
