"""Rows that say almost the same: found by MinHash, proven by comparing them.

Each row is written down as 20 numbers, each made of 6 minima over its shingles; rows
that share one are compared for real. Of rows with a Jaccard similarity of 0.8 this
misses 3 in 1,000. Shingles that stand in a tenth of all rows are the frame of a
template, and do not count for prompts. Two rows are the same only if their answers are,
too, and what is beside the texts: several answers to one prompt are meant, and so is
one question about several pictures. Texts of the same words with other signs are two;
of rows that are judged, by a label or against each other, so are answers to one prompt.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.probes.data.across.shingles import shingles
from ftlab.probes.data.row_sets import RowSet
from ftlab.probes.data.rows.row_keys import KeyFile
from ftlab.probes.data.text_store import TextStore, is_judged, said_in, sides_of
from ftlab.records.data_scan import NearPass

THRESHOLD = 0.8
"""Jaccard similarity from which on two texts are almost the same."""

BANDS, DEPTH = 20, 6
SEED = 7

SAMPLE, FRAME, FEWEST = 2000, 0.1, 10
"""Rows in which the frame is looked for; what share of them, and how many at least,
hold a shingle of it."""

BLOCK_ROWS, BLOCK_CHARS = 512, 1 << 20
KNOWN_PAIRS = 1 << 20

_NUMBER = re.compile(r"\d+")
_SIGN = re.compile(
    r"(?<=[\w)\]}])[ \t]*[+*/^=<>%&|~\xd7\xf7][ \t]*(?=[\w(\[{-])"
    r"|(?<=[\d)])[ \t]*-[ \t]*(?=[\d(])|(?<![\w)])-(?=[\d(])"
    r"|(?<=\b[A-Za-z])(?:\+\+|#)"
)
"""Operators, which shingles do not see: ``x + 1`` and ``x * 1`` have the same words."""

Shingles = NDArray[np.uint64]
Tick = Callable[[int], object]


def minhash() -> Callable[..., Any] | None:
    """Return what makes the minima of many sets at once; ``None`` without rensa 0.4."""
    try:
        from rensa import RMinHash
    except ImportError:
        return None
    return getattr(RMinHash, "digest_matrix_from_flat_token_hashes", None)


class NearRows:
    """Compares all rows of a store.

    Parameters
    ----------
    texts
        Of the rows, by number.
    skipped
        Rows that are not compared: they repeat another one exactly.

    Attributes
    ----------
    pairs
        Of the later row, the earlier one, and their similarity.
    """

    def __init__(self, texts: TextStore, skipped: RowSet) -> None:
        self._texts = texts
        self._skipped = skipped
        self._frame = np.empty(0, np.uint64)
        self._bands: list[KeyFile] = []
        self._digests: Any = minhash()
        self.compared = self.candidates = 0
        self.found = RowSet()
        self._sides = lru_cache(maxsize=1024)(self._read_sides)

    def pairs(self, tick: Tick = int) -> Iterator[tuple[int, int, float]]:
        """Yield the later row, the earlier one, and how similar they are."""
        self._frame = self._common()
        self._bands = [KeyFile() for _ in range(BANDS)]
        try:
            for first, texts in self._blocks():
                self._write(first, texts)
                tick(len(texts))
            yield from self._proven(tick)
        finally:
            for band in self._bands:
                band.close()

    def _blocks(self) -> Iterator[tuple[int, list[str]]]:
        first, block, chars = 0, [], 0
        for number, text in enumerate(self._texts):
            block.append("" if number in self._skipped else said_in(text))
            chars += len(block[-1])
            if len(block) >= BLOCK_ROWS or chars >= BLOCK_CHARS:
                yield first, block
                first, block, chars = number + 1, [], 0
        if block:
            yield first, block

    def _common(self) -> Shingles:
        """Return the shingles of the frame that many rows share, ascending."""
        count = len(self._texts)
        step = max(1, count // SAMPLE)
        chosen = [n for n in range(0, count, step) if n not in self._skipped]
        found = [np.unique(shingles([said_in(self._texts[n])])[0]) for n in chosen]
        if not found:
            return self._frame
        numbers, rows = np.unique(np.concatenate(found), return_counts=True)
        return numbers[rows > max(FEWEST, FRAME * len(chosen))]

    def _outside(self, numbers: Shingles) -> NDArray[np.bool_]:
        if not len(self._frame):
            return np.ones(len(numbers), bool)
        at = np.minimum(np.searchsorted(self._frame, numbers), len(self._frame) - 1)
        return self._frame[at] != numbers

    def _write(self, first: int, texts: Sequence[str]) -> None:
        numbers, borders = shingles(texts)
        kept = self._outside(numbers)
        borders = np.concatenate(([0], np.cumsum(kept)))[borders].astype(np.uint64)
        kept_numbers = np.ascontiguousarray(numbers[kept])
        matrix = self._digests(kept_numbers, borders, BANDS * DEPTH, SEED)
        minima = np.array(matrix.to_rows(), np.uint64)
        empty = borders[1:] == borders[:-1]
        self.compared += len(texts) - int(empty.sum())
        own = -1 - np.arange(first, first + len(texts), dtype=np.int64)
        for at, band in enumerate(self._bands):
            part = minima[:, at * DEPTH : (at + 1) * DEPTH]
            key = np.zeros(len(texts), np.uint64)
            for column in part.T:
                key = (key ^ column) * np.uint64(0x9E3779B97F4A7C15)
                key ^= key >> np.uint64(29)
            band.extend(np.where(empty, own, key.view(np.int64)))

    def _proven(self, tick: Tick) -> Iterator[tuple[int, int, float]]:
        known: set[tuple[int, int]] = set()
        for band in self._bands:
            for rows, firsts in band.repeated():
                pairs = zip(rows.tolist(), firsts.tolist(), strict=True)
                for row, first in pairs:
                    if row in self.found or (row, first) in known:
                        continue
                    if len(known) >= KNOWN_PAIRS:
                        known.clear()
                    known.add((row, first))
                    self.candidates += 1
                    tick(0)
                    similarity = self.similarity(row, first)
                    if similarity >= THRESHOLD:
                        self.found.add(row)
                        yield row, first, similarity

    def similarity(self, row: int, other: int) -> float:
        """Return the smaller one of two similarities: of prompts, and of answers.

        Rows with other pictures, tools or labels are not similar at all.
        """
        asked, answered, beside = self._sides(row)
        asked_too, answered_too, beside_too = self._sides(other)
        if beside != beside_too:
            return 0.0
        alike = _jaccard(asked, asked_too), _jaccard(answered, answered_too)
        if min(alike) < THRESHOLD or not self._say_the_same(row, other, alike):
            return 0.0
        return min(alike)

    def _say_the_same(self, row: int, other: int, alike: Sequence[float]) -> bool:
        """Tell whether texts of the same words mean the same, and so are copies."""
        one, two = sides_of(self._texts[row]), sides_of(self._texts[other])
        sides = list(zip(one[:2], two[:2], strict=True))
        if is_judged(one[2]) and one[0] == two[0] and alike[1] < 1:
            return False
        if all(_NUMBER.findall(a) != _NUMBER.findall(b) for a, b in sides):
            return False  # asked with another number, and answered with another one
        return all(
            like < 1 or _signs(mine) == _signs(its)
            for like, (mine, its) in zip(alike, sides, strict=True)
        )

    def _read_sides(self, row: int) -> tuple[Shingles, Shingles, str]:
        *sides, beside = sides_of(self._texts[row])
        numbers, borders = shingles(sides)
        asked, answered = numbers[: borders[1]], numbers[borders[1] :]
        asked = asked[self._outside(asked)]
        return np.unique(asked), np.unique(answered), beside


def _jaccard(one: Shingles, two: Shingles) -> float:
    """Return the share of what both hold in what one of them holds; 1 for nothing."""
    both = len(np.intersect1d(one, two, assume_unique=True))
    either = len(one) + len(two) - both
    return both / either if either else 1.0


def _signs(text: str) -> list[str]:
    return [each.strip() for each in _SIGN.findall(text.replace("\u2013", "-"))]


def near_pass(
    near: NearRows, report: Callable[[int, int, float], object], tick: Tick
) -> NearPass:
    """Report all pairs, and say what that took."""
    began = time.perf_counter()
    pairs = 0
    for row, other, similarity in near.pairs(tick):
        report(row, other, similarity)
        pairs += 1
    seconds = time.perf_counter() - began
    return NearPass(near.compared, near.candidates, pairs, THRESHOLD, seconds)
