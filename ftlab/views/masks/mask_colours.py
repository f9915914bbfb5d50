"""Colours of masks, and their codes for the browser."""

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.records.attention import FAULTS, ILLEGAL, Documents, MaskGrid

SEEN, BAD, MISSING = "#2486c9", "#d55e00", "#cc79a7"
"""Legal, illegal and missing attention, after Okabe and Ito."""
FAINTEST = 0.35
"""How strongly the smallest share of what is wrong is drawn."""
COARSE = 64_000
"""Bytes of a coded grid above which neighbouring cells are put together."""


def illegal_of(grid: MaskGrid, *, sure: bool) -> NDArray[np.float64]:
    """Return each cell's share of illegal pairs, 0 to 1."""
    total = np.zeros(grid.seen.shape)
    for fault in ILLEGAL:
        if fault in grid.faults and (sure or fault != "other sample"):
            total += grid.faults[fault] / 255
    return np.minimum(total, 1)


def seen_of(grid: MaskGrid, *, sure: bool) -> NDArray[np.float64]:
    """Return each cell's share of legal pairs that are attended to, 0 to 1."""
    total = grid.seen / 255
    if not sure and "other sample" in grid.faults:
        total = total + grid.faults["other sample"] / 255
    return np.minimum(total, 1)


def pixels(grid: MaskGrid, *, sure: bool) -> NDArray[np.float64]:
    """Return a picture of a grid: red, green, blue from 0 to 1."""
    picture = np.ones((*grid.seen.shape, 3)) * 0.955
    _blend(picture, seen_of(grid, sure=sure), SEEN, 0.15)
    if "missing" in grid.faults:
        _blend(picture, grid.faults["missing"] / 255, MISSING, FAINTEST)
    _blend(picture, illegal_of(grid, sure=sure), BAD, FAINTEST)
    return picture


def _blend(
    picture: NDArray[np.float64], share: NDArray[np.float64], colour: str, least: float
) -> None:
    tone = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    part = np.where(share > 0, least + (1 - least) * share, 0)[..., None]
    picture[:] = picture * (1 - part) + tone * part


def coded(grid: MaskGrid, *, sure: bool) -> dict[str, Any]:
    """Return a grid for the browser: runs of equal cells, row by row.

    A run is six bytes: how many cells, then the shares that are seen, padding, another
    sample, the future and missing.
    """
    planes = [grid.seen]
    planes += [grid.faults.get(f, np.zeros_like(grid.seen)) for f in FAULTS]
    stack, cell = np.stack(planes, -1), grid.cell
    runs = _runs(stack)
    while len(runs) > COARSE and min(stack.shape[:2]) > 1:
        stack, cell = _halved(stack), (2 * cell[0], 2 * cell[1])
        runs = _runs(stack)
    return {
        "queries": list(grid.queries),
        "keys": list(grid.keys),
        "cell": list(cell),
        "shape": list(stack.shape[:2]),
        "runs": base64.b64encode(runs).decode(),
        "sure": sure,
    }


def borders(documents: Documents) -> dict[str, list[int]]:
    """Return where documents begin, and where padding begins and ends."""
    hidden = np.concatenate(([False], documents.numbers == -1, [False]))
    edges = np.flatnonzero(hidden[1:] != hidden[:-1]).tolist()
    virtual = int((documents.numbers == -2).sum())
    return {"starts": documents.starts, "padding": edges, "virtual": [virtual]}


def _runs(stack: NDArray[np.uint8]) -> bytes:
    flat = stack.reshape(-1, stack.shape[-1])
    change = np.flatnonzero((flat[1:] != flat[:-1]).any(1)) + 1
    # a run is at most as long as one byte can say
    starts = np.unique(np.concatenate(([0], change, np.arange(0, len(flat), 255))))
    lengths = np.diff(np.append(starts, len(flat))).astype(np.uint8)
    return np.concatenate((lengths[:, None], flat[starts]), 1).tobytes()


def _halved(stack: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Put four cells together; what is not 0 in one of them is not 0 in all."""
    rows, columns = stack.shape[:2]
    padded = np.pad(stack, ((0, rows % 2), (0, columns % 2), (0, 0)), mode="edge")
    four = padded.reshape(len(padded) // 2, 2, padded.shape[1] // 2, 2, -1)
    mean = np.rint(four.mean((1, 3))).astype(np.uint8)
    return np.where(four.any((1, 3)), np.maximum(mean, 1), 0).astype(np.uint8)
