"""Pairs of a part of a batch, and the same alone: a row, or a packed document."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import torch

from ftlab.executions.pairs import Pair, evaluating, side
from ftlab.executions.side import NotApplicableError
from ftlab.executions.tokens import Grid, Meeting


def padding(model: Any, batch: Mapping[str, Any], row: int | None = None) -> Pair:
    """Compare a row in its batch with the same row alone, without padding."""
    whole = {k: v for k, v in batch.items() if k not in ("labels", "position_ids")}
    grid = Grid.of(whole)
    if grid is None:
        msg = "the batch has no input_ids of shape (rows, positions)"
        raise NotApplicableError(msg)
    lengths = torch.bincount(grid.rows, minlength=grid.shape[0])
    if row is None:
        row = int(torch.where(lengths > 0, lengths, grid.shape[1] + 1).argmin())
    if int(lengths[row]) == grid.shape[1] and grid.shape[0] == 1:
        msg = "the batch is one row without padding"
        raise NotApplicableError(msg)
    mine = grid.rows == row
    taken = grid.positions[mine]
    alone = {
        key: value[row : row + 1, taken.to(value.device)]
        if isinstance(value, torch.Tensor) and tuple(value.shape[:2]) == grid.shape
        else value
        for key, value in whole.items()
    }
    there = Grid(grid.shape, grid.rows[mine], taken)
    here = Grid((1, len(taken)), torch.zeros_like(taken), torch.arange(len(taken)))
    if "position_ids" in batch:
        whole["position_ids"] = positions = batch["position_ids"]
        if _starts_again(positions, row, taken):
            alone["position_ids"] = positions[row : row + 1, taken]
    a, b = (side(model, given, lambda: evaluating(model)) for given in (alone, whole))
    names = (f"row {row} alone", f"row {row} in the padded batch")
    return Pair(
        a, b, names, Meeting(here, there, moved=True, parts=True), backward=False
    )


def _starts_again(positions: Any, row: int, taken: torch.Tensor) -> bool:
    """Say whether a row holds several documents: alone it must hold them too."""
    if not isinstance(positions, torch.Tensor) or len(positions) <= row:
        return False
    mine = positions[row, taken.to(positions.device)]
    return bool((mine[1:] < mine[:-1]).any())


def packing(model: Any, batch: Mapping[str, Any]) -> Pair:
    """Compare a document behind another in a packed row with the same alone.

    Of the first packed row, the longest.
    """
    ids, positions = batch.get("input_ids"), batch.get("position_ids")
    if not isinstance(ids, torch.Tensor) or ids.dim() != 2:
        msg = "the batch has no input_ids of shape (rows, positions)"
        raise NotApplicableError(msg)
    if not isinstance(positions, torch.Tensor) or positions.shape != ids.shape:
        msg = "the batch has no position_ids, so nothing says what is packed"
        raise NotApplicableError(msg)
    starts = (positions[:, 1:] == 0).nonzero()
    if not len(starts):
        msg = "no row's position_ids start again: nothing is packed"
        raise NotApplicableError(msg)
    row = int(starts[0, 0])
    bounds = [*(starts[starts[:, 0] == row][:, 1] + 1).tolist(), ids.shape[1]]
    first, end = max(pairwise(bounds), key=lambda each: each[1] - each[0])
    taken = torch.arange(first, end)
    alone = {
        "input_ids": ids[row : row + 1, first:end],
        "position_ids": positions[row : row + 1, first:end],
    }
    whole = {k: v for k, v in batch.items() if k != "labels"}
    here = Grid((1, len(taken)), torch.zeros_like(taken), taken - first)
    there = Grid((ids.shape[0], ids.shape[1]), torch.full_like(taken, row), taken)
    a, b = (side(model, given, lambda: evaluating(model)) for given in (alone, whole))
    names = ("the document alone", f"the document packed in row {row}")
    meeting = Meeting(here, there, moved=True, parts=True)
    return Pair(a, b, names, meeting, backward=False)
