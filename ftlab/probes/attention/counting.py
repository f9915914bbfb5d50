"""Counting what a mask lets through, tile by tile.

A tile is a few million pairs; nothing as large as the mask is ever made. Where a tile
lies in one document, or between two, one count says all of it.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ftlab.probes.attention.patterns import Pattern, Tile
from ftlab.records.attention import FAULTS, Fault, MaskGrid, MaskRow, Pair

CELLS = 256
"""Cells of a grid on each side, at most."""
TILE = 2_048
"""Queries and keys that are looked at together, about."""
SAMPLED = 4
"""Queries of a cell that stand for the others where not every pair is looked at."""


_Range = tuple[int, int]
_Shape = tuple[_Range, _Range, _Range, _Range]
"""Queries and keys that are looked at, the size of a cell, and how many cells."""


@dataclass(frozen=True, slots=True)
class Legal:
    """Who should attend to whom in a row.

    Attributes
    ----------
    queries, keys
        Document of each, see `ftlab.records.attention.Documents`.
    at
        Where each query stands among the keys.
    causal
        Whether what comes later must not be seen.
    spoiling
        Which keys must not be seen early; those that are trained, if any are.
    window
        Keys that a query is due at most, itself included; 0 for all, -1 if it is not
        known what is due.
    """

    queries: NDArray[np.int32]
    keys: NDArray[np.int32]
    at: NDArray[np.int64]
    causal: bool
    spoiling: NDArray[np.bool_]
    window: int = 0


@dataclass(slots=True)
class _Counts:
    """What was found so far, in whole pairs."""

    seen: NDArray[np.int64]
    cells: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    queries: dict[Fault, NDArray[np.int64]] = field(default_factory=dict)
    first: dict[Fault, Pair] = field(default_factory=dict)


def count_row(
    pattern: Pattern,
    row: int,
    legal: Legal,
    *,
    kind: str,
    exact: bool = True,
    part: tuple[tuple[int, int], tuple[int, int]] | None = None,
    cells: int = CELLS,
) -> MaskRow:
    """Count the pairs of one row under one mask.

    Parameters
    ----------
    exact
        Look at every pair; otherwise at `SAMPLED` queries of each cell, and the counts
        are estimates.
    part
        Queries and keys to look at: first, and the one behind the last.
    """
    queries, keys = part or ((0, pattern.queries), (0, pattern.keys))
    cell = (_cell(queries, cells), _cell(keys, cells))
    shape = (-(-_span(queries) // cell[0]), -(-_span(keys) // cell[1]))
    counts = _Counts(np.zeros(pattern.queries, np.int64))
    looked = _looked_at(queries, cell[0], exact)
    wide = max(1, TILE // cell[1]) * cell[1]
    for rows in looked:
        for start in range(keys[0], keys[1], wide):
            at = np.arange(start, min(start + wide, keys[1]))
            seen = pattern.tile(row, rows, at)
            for name, found in _sorted_out(seen, rows, at, legal).items():
                if found is not None:
                    _add(counts, name, found, rows, at, (queries, keys, cell, shape))
    exact = exact or cell[0] <= SAMPLED
    return _result(counts, row, kind, (queries, keys, cell, shape), exact)


def _looked_at(
    span: tuple[int, int], cell: int, exact: bool
) -> list[NDArray[np.int64]]:
    """Return the queries to look at, in portions that begin with a cell."""
    portion = max(1, TILE // cell) * cell
    at = np.arange(*span)
    if not exact and cell > SAMPLED:
        inside = (np.arange(SAMPLED) * 2 + 1) * cell // (2 * SAMPLED)
        starts = np.arange(span[0], span[1], cell)
        at = (starts[:, None] + inside).ravel()
        at = at[at < span[1]]
        portion *= 4
    cuts = np.searchsorted(at, np.arange(span[0] + portion, span[1], portion))
    return [each for each in np.split(at, cuts) if len(each)]


def _sorted_out(
    seen: Tile, queries: NDArray[np.int64], keys: NDArray[np.int64], legal: Legal
) -> dict[str, Tile | None]:
    """Tell legal pairs from the others; ``None`` for a kind that the tile lacks."""
    q, k = legal.queries[queries], legal.keys[keys]
    at = legal.at[queries]
    counted = q >= 0
    if not counted.any():
        return {}
    if not counted.all():
        seen = seen & counted[:, None]
    behind = keys[-1] <= at[0]
    if (q == q[0]).all() and (k == k[0]).all() and (behind or not legal.causal):
        if k[0] == q[0]:
            due = _due(legal, queries, keys)
            return {"seen": seen, "missing": None if due is None else due & ~seen}
        name = {-1: "padding", -2: "seen"}.get(int(k[0]), "other sample")
        return {name: seen}
    same = q[:, None] == k[None, :]
    own = same | (k == -2)[None, :]
    found: dict[str, Tile | None] = {
        "padding": seen & (k == -1)[None, :],
        "other sample": seen & ~own & (k >= 0)[None, :],
    }
    right = seen & own
    if legal.causal and not behind:
        early = (keys[None, :] > at[:, None]) & same & legal.spoiling[keys][None, :]
        found["future"] = right & early
        right &= ~early
    due = _due(legal, queries, keys)
    found["seen"] = right
    found["missing"] = None if due is None else due & same & counted[:, None] & ~seen
    return found


def _due(
    legal: Legal, queries: NDArray[np.int64], keys: NDArray[np.int64]
) -> Tile | None:
    """Return the pairs of one document that a layer of this kind should see."""
    if legal.window < 0:
        return None
    ahead = legal.at[queries][:, None] - keys[None, :]
    if not legal.causal:
        return np.ones_like(ahead, dtype=bool)
    due: Tile = ahead >= 0
    if legal.window:
        due &= ahead < legal.window
    return due


def _add(
    counts: _Counts,
    name: str,
    found: Tile,
    queries: NDArray[np.int64],
    keys: NDArray[np.int64],
    shape: _Shape,
) -> None:
    """Add a tile's pairs of one kind to the counts."""
    if not found.any():
        return
    (first_query, _), (first_key, _), cell, cells = shape
    each = np.count_nonzero(found, axis=1)
    if name != "missing":
        counts.seen[queries] += each
    for fault in FAULTS:
        if fault == name:
            of = counts.queries.setdefault(fault, np.zeros_like(counts.seen))
            of[queries] += each
            if fault not in counts.first or queries[0] < counts.first[fault].query:
                at = int(np.argmax(each > 0))
                pair = Pair(int(queries[at]), int(keys[np.argmax(found[at])]))
                known = counts.first.get(fault)
                if known is None or pair.query < known.query:
                    counts.first[fault] = pair
    grid = counts.cells.setdefault(name, np.zeros(cells, np.int64))
    across = (keys - first_key) // cell[1]
    columns = np.flatnonzero(np.diff(across, prepend=-1))
    down = (queries - first_query) // cell[0]
    lines = np.flatnonzero(np.diff(down, prepend=-1))
    by_line = np.add.reduceat(found.view(np.uint8), lines, axis=0, dtype=np.int32)
    by_cell = np.add.reduceat(by_line, columns, axis=1)
    grid[np.ix_(down[lines], across[columns])] += by_cell


def _result(
    counts: _Counts,
    row: int,
    kind: str,
    shape: _Shape,
    exact: bool,
) -> MaskRow:
    queries, keys, cell, cells = shape
    looked = cell[0] if exact else min(SAMPLED, cell[0])
    rows = _sizes(queries, cell[0]) if exact else np.full(cells[0], looked)
    room = rows[:, None] * _sizes(keys, cell[1])[None, :]
    scale = 1.0 if exact else cell[0] / looked
    grid = MaskGrid(
        queries,
        keys,
        cell,
        _bytes(counts.cells.get("seen", np.zeros(cells, np.int64)), room),
        {f: _bytes(counts.cells[f], room) for f in FAULTS if f in counts.cells},
    )
    due = np.maximum(counts.seen, 1)
    return MaskRow(
        row,
        kind,
        round(int(counts.seen.sum()) * scale),
        {f: round(int(each.sum()) * scale) for f, each in counts.queries.items()},
        {
            f: round(int(np.count_nonzero(each)) * scale)
            for f, each in counts.queries.items()
        },
        counts.first,
        {
            f: float((each / (due + each * (f == "missing"))).max())
            for f, each in counts.queries.items()
        },
        grid,
        exact,
    )


def _bytes(pairs: NDArray[np.int64], room: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Write shares as bytes; some is never none, and not all is never all."""
    share = np.rint(255 * pairs / np.maximum(room, 1)).astype(np.int64)
    share = np.where(pairs > 0, np.maximum(share, 1), 0)
    share = np.where(pairs < room, np.minimum(share, 254), np.minimum(share, 255))
    return share.astype(np.uint8)


def _sizes(span: tuple[int, int], cell: int) -> NDArray[np.int64]:
    edges = np.append(np.arange(span[0], span[1], cell), span[1])
    return np.diff(edges)


def _span(of: tuple[int, int]) -> int:
    return of[1] - of[0]


def _cell(span: tuple[int, int], cells: int) -> int:
    return max(1, -(-_span(span) // cells))
