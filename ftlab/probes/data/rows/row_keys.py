"""Which rows are the same: 64 bits of each, kept in a file and compared by parts."""

from array import array
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.probes.data.rows.parts import Part, RowParts
from ftlab.probes.data.spill import Spill

BLOCK = 1 << 16
"""Keys that wait in memory."""

AT_ONCE = 1 << 22
"""Keys that are compared at once; of more rows, a part of the keys at a time."""

DEPTH = 50
"""Levels of values within values that are compared."""

Rows = NDArray[np.int64]

_ALONE = frozenset({str, float, bool, type(None)})


def row_key(read: RowParts) -> int:
    """Return a number that is the same for rows that say the same.

    Two of ten million different rows share one with a probability of 3 in a million.
    Within one process only: Python salts its hashes.
    """
    said: Hashable = tuple([(part.role, part.text) for part in read.parts])
    beside = beside_texts(read)
    if beside:
        said = (said, frozen(beside))
    return hash(said)


def beside_texts(read: RowParts) -> list[Any]:
    """Return what tells a row from others with the same texts."""
    held = (read.beside, read.label, read.others)
    return [each for each in held if each is not None]


def prompt_key(read: RowParts) -> int | None:
    """Return the same of what comes before the last answer; ``None`` without one."""
    before = prompt_of(read.parts)
    if before is None or sum(len(part.text) for part in before) < 20:
        return None
    asked: Hashable = tuple([(part.role, part.text) for part in before])
    others = [held for held in read.others or () if not isinstance(held[1], str)]
    return hash((asked, frozen(others)) if others else (asked,))


def prompt_of(parts: tuple[Part, ...]) -> tuple[Part, ...] | None:
    """Return the texts before the last answer; ``None`` where none is an answer."""
    for at in range(len(parts) - 1, -1, -1):
        if parts[at].role == "assistant":
            return parts[:at]
    return None


def frozen(value: Any, depth: int = DEPTH) -> Hashable:
    """Return a value as what can be hashed; objects that cannot are only themselves."""
    if isinstance(value, str):
        return value
    if not depth:
        return id(value)
    if type(value) is dict or isinstance(value, Mapping):
        return tuple((k, frozen(v, depth - 1)) for k, v in value.items())
    if isinstance(value, np.ndarray) and value.dtype.kind not in "biuO":
        return value.shape, value.tobytes()
    if isinstance(value, list | tuple):
        return _frozen_list(value, depth)
    if hasattr(value, "tolist"):  # a tensor
        return frozen(value.tolist(), depth)
    return value if isinstance(value, Hashable) else id(value)


def _frozen_list(value: Sequence[Any], depth: int) -> Hashable:
    if value and all(type(each) is int for each in value):
        return repr(value)  # hash(-1) is hash(-2)
    if all(type(each) in _ALONE for each in value):
        return tuple(value)
    return tuple(frozen(each, depth - 1) for each in value)


class KeyFile:
    """Keys of all rows, in a file that has no name.

    Examples
    --------
    >>> from ftlab.probes.data.rows.row_keys import KeyFile
    >>> keys = KeyFile()
    >>> for key in (5, 7, 5, 9, 5):
    ...     keys.append(key)
    >>> [(rows.tolist(), firsts.tolist()) for rows, firsts in keys.repeated()]
    [([2, 4], [0, 0])]
    """

    def __init__(self) -> None:
        self._spill = Spill()
        self._waiting = array("q")

    def append(self, key: int) -> None:
        """Write the key of the next row."""
        self._waiting.append(key)
        if len(self._waiting) >= BLOCK:
            self._flush()

    def extend(self, keys: Rows) -> None:
        """Write the keys of the next rows."""
        self._waiting.frombytes(keys.astype(np.int64).tobytes())
        if len(self._waiting) >= BLOCK:
            self._flush()

    def _flush(self) -> None:
        self._spill.append(self._waiting.tobytes())
        del self._waiting[:]

    def __len__(self) -> int:
        return len(self._spill) // 8 + len(self._waiting)

    def repeated(self) -> Iterator[tuple[Rows, Rows]]:
        """Yield rows that repeat an earlier one, and beside each that first one."""
        parts = 1 + len(self) // AT_ONCE
        for part in range(parts):
            keys, rows = self._part(part, parts)
            order = np.argsort(keys, kind="stable")
            keys, rows = keys[order], rows[order]
            new = np.concatenate(([True], keys[1:] != keys[:-1])) if len(keys) else keys
            firsts = rows[np.flatnonzero(new)[np.cumsum(new) - 1]]
            again = ~new.astype(bool)
            yield rows[again], firsts[again]

    def among(self, known: Rows) -> Iterator[tuple[Rows, Rows]]:
        """Yield rows whose key is in an ascending array, and beside each its place."""
        if not len(known):
            return
        for start, keys in self.blocks():
            at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
            held = known[at] == keys
            yield np.flatnonzero(held) + start, at[held]

    def _part(self, part: int, parts: int) -> tuple[Rows, Rows]:
        found_keys, found_rows = [], []
        for start, keys in self.blocks():
            held = np.flatnonzero((keys % parts) == part)
            found_keys.append(keys[held])
            found_rows.append(held + start)
        empty = np.empty(0, np.int64)
        return (
            np.concatenate([empty, *found_keys]),
            np.concatenate([empty, *found_rows]),
        )

    def blocks(self) -> Iterator[tuple[int, Rows]]:
        """Yield all keys in blocks, each with the number of its first row."""
        self._flush()
        for start in range(0, len(self), BLOCK):
            yield start, np.frombuffer(self._spill.read(8 * start, 8 * BLOCK), np.int64)

    def close(self) -> None:
        """Let the file go."""
        self._spill.close()
