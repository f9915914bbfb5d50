"""One column of a block table as steps x rows, and how pieces become one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]
Steps = NDArray[np.int64]
Ids = NDArray[np.int32]
Bounds = tuple[int, int]
"""A half-open range of steps."""
Wanted = Mapping[str, Sequence[str]]
"""Columns, and of each what to read of its roll-ups: see `PARTS`."""
PARTS = ("mean", "low", "high")
"""What there is; one of them stands for all three where it is read alone."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """One column of a block table over steps and rows.

    At a resolution above 1 a line stands for a window of that many steps: ``steps``
    holds where the windows begin, ``values`` the mean over finite values, ``low`` and
    ``high`` the smallest and largest finite value. At resolution 1 both equal
    ``values``.

    Attributes
    ----------
    steps
        Int64 of shape ``(T,)``, increasing.
    ids
        Int32 of shape ``(N,)``, increasing; see `NameRecord`.
    values, low, high
        Float32 of shape ``(T, N)``; NaN where nothing was measured, and where the
        measured value is NaN.
    known
        Bool of shape ``(T, N)``: whether it was measured.
    nonfinite
        Int32 of shape ``(T, N)``: how many measured values were NaN or infinite.
    """

    steps: Steps
    ids: Ids
    values: Floats
    known: Bools
    low: Floats
    high: Floats
    nonfinite: NDArray[np.int32]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of steps (or windows) and of rows."""
        return len(self.steps), len(self.ids)

    def sealed(self) -> "Matrix":
        """Make the values read-only, for several readers, and return the matrix."""
        for part in (self.values, self.known, self.low, self.high, self.nonfinite):
            part.flags.writeable = False
        return self

    def measured(self) -> "Matrix":
        """Return only the steps at which something was measured."""
        return self.at(np.flatnonzero(self.known.any(axis=1)))

    def at(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> "Matrix":
        """Return the steps that ``rows`` selects (a mask or positions)."""
        return Matrix(
            self.steps[rows],
            self.ids,
            self.values[rows],
            self.known[rows],
            self.low[rows],
            self.high[rows],
            self.nonfinite[rows],
        )


@dataclass(frozen=True, slots=True)
class Piece:
    """Some steps of some rows; pieces may overlap in steps and in rows.

    ``layers`` holds values, and for roll-ups low, high (or one of the three) and the
    count of non-finite values after them, all of shape ``(len(steps), len(ids))``.
    """

    steps: Steps
    ids: Ids
    layers: tuple[NDArray[Any], ...]
    known: Bools


Pieces = dict[str, Piece]
"""Of several columns, the same steps and rows."""


def assemble(pieces: Sequence[Piece]) -> Matrix:
    """Join pieces into one matrix; what no piece knows is NaN and not known."""
    if not pieces:
        steps, ids = np.empty(0, np.int64), np.empty(0, np.int32)
        return _matrix(steps, ids, _blank(1, (0, 0)), np.zeros((0, 0), bool))
    layers = len(pieces[0].layers)
    if _aligned(pieces):
        steps = np.concatenate([piece.steps for piece in pieces])
        joined = [
            np.concatenate([piece.layers[layer] for piece in pieces])
            for layer in range(layers)
        ]
        known = np.concatenate([piece.known for piece in pieces])
        return _matrix(steps, pieces[0].ids, joined, known)
    return _scatter(pieces, layers)


def _aligned(pieces: Sequence[Piece]) -> bool:
    """Whether the pieces follow each other and have the same sorted rows."""
    first = pieces[0].ids
    if len(first) > 1 and not (np.diff(first) > 0).all():
        return False
    last = -1
    for piece in pieces:
        if piece.ids is not first and not np.array_equal(piece.ids, first):
            return False
        if not len(piece.steps) or piece.steps[0] <= last:
            return False
        last = int(piece.steps[-1])
    return True


def _scatter(pieces: Sequence[Piece], layers: int) -> Matrix:
    steps = np.unique(np.concatenate([piece.steps for piece in pieces]))
    ids = np.unique(np.concatenate([piece.ids for piece in pieces]))
    shape = (len(steps), len(ids))
    blank, known = _blank(layers, shape), np.zeros(shape, bool)
    for piece in pieces:
        rows = np.searchsorted(steps, piece.steps)
        columns = np.searchsorted(ids, piece.ids)
        line, entry = np.nonzero(piece.known)
        target = rows[line], columns[entry]
        known[target] = True
        for layer, source in zip(blank, piece.layers, strict=True):
            layer[target] = source[line, entry]
    return _matrix(steps, ids, blank, known)


def _matrix(
    steps: Steps,
    ids: Ids,
    layers: Sequence[NDArray[Any]],
    known: Bools,
) -> Matrix:
    values = layers[0].astype(np.float32, copy=False)
    if len(layers) == 1:
        count = (known & ~np.isfinite(values)).astype(np.int32)
        return Matrix(steps, ids, values, known, values, values, count)
    count = np.nan_to_num(layers[-1], copy=False).astype(np.int32, copy=False)
    if len(layers) == 2:
        return Matrix(steps, ids, values, known, values, values, count)
    low, high = (layer.astype(np.float32, copy=False) for layer in layers[1:3])
    return Matrix(steps, ids, values, known, low, high, count)


def _blank(layers: int, shape: tuple[int, int]) -> list[Floats]:
    return [np.full(shape, np.nan, np.float32) for _ in range(layers)]
