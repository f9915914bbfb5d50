"""Texts as sets of five words in a row, each of them a number: what tells likeness.

Case, punctuation and spaces do not count. Where a script has no spaces each character
is a word. All texts of a block are cut up at once.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

WORDS = 5
"""Words of a shingle; a shorter text is one by itself."""

LONGEST = 1 << 18
"""Characters of a text that are compared."""

Numbers = NDArray[np.uint64]

_BASE = 0x9E3779B97F4A7C15
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_ORDER = np.array(
    [
        0x9FB21C651E98DF25,
        0xD6E8FEB86659FD93,
        0xA0761D6478BD642F,
        0xE7037ED1A0B428DB,
        0x8EBC6AF09C88C6E3,
    ],
    np.uint64,
)
_ALONE = (
    (0x0E00, 0x0FFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x3040, 0x30FF),
    (0x3400, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x323AF),
)
"""Scripts without spaces: Thai to Tibetan, Burmese, Khmer, Kana, Chinese characters."""


def shingles(texts: Sequence[str]) -> tuple[Numbers, NDArray[np.int64]]:
    """Return the shingles of texts, and where those of each begin.

    Returns
    -------
    tuple
        The numbers of all shingles, behind each other, and ``len(texts) + 1`` borders.

    Examples
    --------
    >>> from ftlab.probes.data.across.shingles import shingles
    >>> numbers, borders = shingles(["One two three, four five six!", "one TWO", ""])
    >>> borders.tolist()
    [0, 2, 3, 3]
    >>> bool(numbers[2] == shingles(["one -- two"])[0][0])
    True
    """
    words, borders = _words(texts)
    firsts, ends = borders[:-1], borders[1:]
    owner = np.repeat(np.arange(len(texts)), ends - firsts)
    at = np.arange(len(words))
    begins = (at + WORDS <= ends[owner]) | (at == firsts[owner])
    starts, stops = at[begins], ends[owner][begins]
    made = np.zeros(len(starts), np.uint64)
    for step in range(WORDS):
        inside = starts + step < stops
        word = words[np.minimum(starts + step, len(words) - 1)]
        made += np.where(inside, word, np.uint64(0)) * _ORDER[step]
    counts = np.bincount(owner[begins], minlength=len(texts))
    return _mixed(made), np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def _words(texts: Sequence[str]) -> tuple[Numbers, NDArray[np.int64]]:
    """Return a number for each word, and where those of each text begin."""
    lowered = [text[:LONGEST].lower() for text in texts]
    joined = "\n".join([*lowered, ""])
    codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
    kinds = _kinds()[np.minimum(codes, len(_kinds()) - 1)]
    before = np.concatenate(([0], kinds[:-1]))
    after = np.concatenate((kinds[1:], [0]))
    starts = np.flatnonzero((kinds == 2) | ((kinds == 1) & (before != 1)))
    ends = np.flatnonzero((kinds == 2) | ((kinds == 1) & (after != 1))) + 1
    powers, inverse = _powers(max(len(codes) + 1, 1 << 16).bit_length())
    sums = np.zeros(len(codes) + 1, np.uint64)
    np.cumsum((codes + np.uint64(1)) * powers[: len(codes)], out=sums[1:])
    words = _mixed((sums[ends] - sums[starts]) * inverse[starts])
    texts_end = np.cumsum([len(text) + 1 for text in lowered])
    borders = np.concatenate(([0], np.searchsorted(starts, texts_end)))
    return words, borders.astype(np.int64)


def _mixed(numbers: Numbers) -> Numbers:
    numbers = (numbers ^ (numbers >> np.uint64(31))) * _MIX
    return numbers ^ (numbers >> np.uint64(29))


@cache
def _powers(bits: int) -> tuple[Numbers, Numbers]:
    """Return powers of an odd number, and of its inverse, modulo 2**64."""
    return _powers_of(_BASE, bits), _powers_of(pow(_BASE, -1, 1 << 64), bits)


def _powers_of(base: int, bits: int) -> Numbers:
    factors = np.full((1 << bits) - 1, base, np.uint64)
    return np.concatenate(([np.uint64(1)], np.cumprod(factors)))


@cache
def _kinds() -> NDArray[np.uint8]:
    """Return by code point: 1 for letters and digits, 2 for words of one character."""
    table = np.zeros(0x32400, np.uint8)
    letters = [code for code in range(len(table)) if chr(code).isalnum()]
    table[letters] = 1
    for first, last in _ALONE:
        part = table[first : last + 1]
        part[part == 1] = 2
    table[-1] = 0
    return table
