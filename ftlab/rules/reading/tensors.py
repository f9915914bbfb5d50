"""What several rules read of the table of tensors, as arrays over steps and tensors."""

import functools
import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ftlab.records.finding import Place
from ftlab.records.names import NameRecord
from ftlab.runlog.run import Run

Bools = NDArray[np.bool_]

_NUMBERED = re.compile(r"(?<![^.])\d+(?![^. ])")
"""A numbered module; in the name of a pair its adapter follows: ``3 [default]``."""


def records_of(
    run: Run, ids: NDArray[np.int32], table: str = "tensors"
) -> list[NameRecord]:
    """Return the names of rows, in the order of ``ids``; unnamed rows get a number."""
    names = run.names(table)
    return [
        names.get(row) or NameRecord(row, table, f"#{row}", "param", "")
        for row in ids.tolist()
    ]


def elements(names: Sequence[NameRecord]) -> NDArray[np.float64]:
    """Return how many elements each tensor has, at least 1."""
    return np.array([max(math.prod(name.shape), 1) for name in names], np.float64)


@functools.lru_cache(maxsize=1 << 16)
def pattern(name: str) -> str:
    """Return the name with ``#`` for numbered modules: what repeats over blocks.

    Examples
    --------
    >>> from ftlab.rules.reading.tensors import pattern
    >>> pattern("model.layers.11.mlp.experts.3.w1.weight")
    'model.layers.#.mlp.experts.#.w1.weight'
    """
    return _NUMBERED.sub("#", name)


def text_of(name: NameRecord, key: str) -> str:
    """Return an entry of a name's meta as text, ``""`` when it has none."""
    return str(name.meta.get(key, ""))


def group_of(name: NameRecord) -> int:
    """Return the optimizer group of a tensor, -1 when it is in none."""
    return int(name.meta.get("group", -1))


def params(names: Sequence[NameRecord]) -> list[Place]:
    """Return the places of tensors."""
    return [Place("param", name.name) for name in names]


def twin_key(name: NameRecord) -> tuple[str, str, tuple[int, ...]]:
    """Return what twins share: layer, shape, and the name but for numbered modules.

    Experts of a mixture are twins: which of them gets a token is up to the batch.
    """
    return name.layer, _without_numbers(name.name, name.layer), name.shape


@functools.lru_cache(maxsize=1 << 16)
def _without_numbers(text: str, layer: str) -> str:
    inner = text.partition(f"{layer}.")[2] or text
    return _NUMBERED.sub("#", inner)


def has_twin(names: Sequence[NameRecord]) -> Bools:
    """Mark the ones that have a twin at all."""
    keys = [twin_key(name) for name in names]
    count = Counter(keys)
    return np.array([count[key] > 1 and "#" in key[1] for key in keys], bool)


def routed(names: Sequence[NameRecord], lost: Bools) -> Bools:
    """Mark the lost ones that have a twin which is not lost."""
    alive = {twin_key(n) for n, gone in zip(names, lost, strict=True) if not gone}
    pairs = zip(names, lost, strict=True)
    return np.array(
        [bool(gone) and twin_key(n) in alive and _numbered(n) for n, gone in pairs],
        bool,
    )


def _numbered(name: NameRecord) -> bool:
    return "#" in twin_key(name)[1]


def in_a_row(mask: Bools, count: int) -> Bools:
    """Mark where ``mask`` has been true for ``count`` lines in a row, along axis 0."""
    if len(mask) < count:
        return np.zeros_like(mask)
    sums = np.cumsum(mask, axis=0, dtype=np.int32)
    sums[count:] -= sums[:-count].copy()
    streak = sums == count
    streak[: count - 1] = False
    return np.asarray(streak, bool)
