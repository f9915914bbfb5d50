"""Which tokens of one execution are which of another's.

Padding and packing move tokens. Both sides' are listed here in pairs, and tensors are
compared at these places alone.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch

Layout = Literal["rows", "flat", "positions"]


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows and positions of the tokens of one side.

    Attributes
    ----------
    shape
        Rows and positions of the batch.
    rows, positions
        One entry per token, in the same order on both sides.
    """

    shape: tuple[int, int]
    rows: torch.Tensor
    positions: torch.Tensor

    @classmethod
    def of(cls, batch: Any) -> "Grid | None":
        """List the tokens of a batch that are no padding; ``None`` without ids."""
        if not isinstance(batch, Mapping):
            return None
        ids = batch.get("input_ids")
        ids = batch.get("inputs_embeds") if ids is None else ids
        if not isinstance(ids, torch.Tensor) or ids.dim() < 2:
            return None
        shape = (int(ids.shape[0]), int(ids.shape[1]))
        mask = batch.get("attention_mask")
        real = torch.ones(shape, dtype=torch.bool)
        if isinstance(mask, torch.Tensor) and tuple(mask.shape) == shape:
            real = mask.cpu() != 0
        rows, positions = real.nonzero(as_tuple=True)
        return cls(shape, rows, positions)

    def layout(self, tensor: torch.Tensor) -> Layout | None:
        """Say how the batch's tokens stand in a tensor, if they do."""
        rows, positions = self.shape
        shape = tuple(tensor.shape)
        if shape[:2] == (rows, positions):
            return "rows"
        if shape[:1] == (rows * positions,):
            return "flat"
        if shape[:2] == (1, positions) or shape == (positions,):
            return "positions"
        return None

    def behind_heads(self, tensor: torch.Tensor) -> bool:
        """Say whether a tensor's shape is (rows, heads, positions, values)."""
        rows, positions = self.shape
        return tensor.dim() == 4 and (tensor.shape[0], tensor.shape[2]) == (
            rows,
            positions,
        )

    def cells(self, tensor: torch.Tensor, layout: Layout) -> torch.Tensor:
        """Return what a tensor holds of each token, shape (tokens, values)."""
        return self._at(tensor, layout).reshape(len(self.rows), -1)

    def put(
        self, tensor: torch.Tensor, layout: Layout, cells: torch.Tensor
    ) -> torch.Tensor:
        """Return ``tensor`` with other values for its tokens."""
        new = tensor.detach().clone()
        rows, positions = self._index(tensor, layout)
        place: Any = (rows, positions)
        if layout == "flat":
            place = rows
        elif new.dim() == 1:
            place = positions
        new[place] = cells.to(new).reshape(new[place].shape)
        return new

    def _at(self, tensor: torch.Tensor, layout: Layout) -> torch.Tensor:
        if layout != "positions" and self._is_all():
            return tensor.flatten(0, 1) if layout == "rows" else tensor
        rows, positions = self._index(tensor, layout)
        if layout == "flat":
            return tensor[rows]
        return tensor[positions] if tensor.dim() == 1 else tensor[rows, positions]

    def _is_all(self) -> bool:
        """Say whether these are all tokens of the batch, in order."""
        count = math.prod(self.shape)
        if len(self.rows) != count:
            return False
        places = self.rows * self.shape[1] + self.positions
        return bool((places == torch.arange(count)).all())

    def _index(
        self, tensor: torch.Tensor, layout: Layout
    ) -> tuple[torch.Tensor, torch.Tensor]:
        rows, positions = self.rows.to(tensor.device), self.positions.to(tensor.device)
        if layout == "flat":
            return rows * self.shape[1] + positions, positions
        if layout == "positions":
            return torch.zeros_like(rows), positions
        return rows, positions


@dataclass(frozen=True, slots=True)
class Meeting:
    """The tokens of two executions that are the same.

    Attributes
    ----------
    a, b
        Where they stand on each side; ``None`` where batches are no tokens.
    moved
        Whether they stand elsewhere.
    parts
        Whether one side has a part of the other's tokens: what is taken over all of
        them, a loss for example, is no longer the same.
    """

    a: Grid | None
    b: Grid | None
    moved: bool = False
    parts: bool = False

    def cells(
        self, a: torch.Tensor, b: torch.Tensor, *, heads: bool = False
    ) -> tuple[torch.Tensor, torch.Tensor] | None:
        """Return both sides' values of what meets, (cells, values) each.

        A tensor that is not of tokens is one cell. ``None``: nothing meets in it.

        Parameters
        ----------
        a, b
            The same tensor of both sides.
        heads
            Whether tokens may stand behind attention heads.
        """
        if not _one_kind(a, b):
            return None
        if self.a is not None and self.b is not None:
            if heads and self.a.behind_heads(a) and self.b.behind_heads(b):
                a, b = a.transpose(1, 2), b.transpose(1, 2)
            layout = self._layout(a, b)
            if layout is not None:
                left, right = self.a.cells(a, layout), self.b.cells(b, layout)
                if left.shape != right.shape or self._sorted(layout, left, b):
                    return None
                return left, right
            if self.moved and a.shape == b.shape and _same(a, b):
                return a.reshape(1, -1), b.reshape(1, -1)
        if a.shape != b.shape or (self.moved and (self.parts or a.numel() != 1)):
            return None
        return a.reshape(1, -1), b.reshape(1, -1)

    def forced(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Return ``b`` with the values of ``a`` where they meet."""
        if not _one_kind(a, b):
            return b
        one = a.numel() == 1 and not self.parts
        if a.shape == b.shape and (not self.moved or one):
            return a.to(b)
        if self.a is None or self.b is None:
            return b
        layout = self._layout(a, b)
        if layout is None:
            return a.to(b) if a.shape == b.shape and _same(a, b) else b
        cells = self.a.cells(a, layout)
        fits = cells.shape == self.b.cells(b, layout).shape
        if not fits or self._sorted(layout, cells, b):
            return b
        return self.b.put(b, layout, cells)

    def _sorted(self, layout: Layout, cells: torch.Tensor, b: torch.Tensor) -> bool:
        """Say whether ``b`` has these tokens in an order of its own.

        Experts take tokens as they were chosen, so that none stands in its place.
        """
        if layout != "flat" or not self.moved or not cells.is_floating_point():
            return False
        assert self.b is not None
        if _same(cells, self.b.cells(b, layout)):
            return False
        mine = cells.double().norm(dim=-1)
        theirs = b.to(cells.device).reshape(b.shape[0], -1).double().norm(dim=-1)
        nearest = (mine[:, None] - theirs[None]).abs().min(dim=1).values
        return bool((nearest <= 1e-6 * mine.clamp(min=1e-30)).all())

    def _layout(self, a: torch.Tensor, b: torch.Tensor) -> Layout | None:
        """Say how both sides' tokens stand in a tensor.

        A size may be that of the batch by chance: what is the same on both sides
        although tokens have moved is not of tokens.
        """
        if self.a is None or self.b is None:
            return None
        layout, theirs = self.a.layout(a), self.b.layout(b)
        if "positions" in (layout, theirs) and 1 in (self.a.shape[0], self.b.shape[0]):
            # of one row, what is by position is by row as well
            layout = theirs = "positions" if layout and theirs else None
        if layout is None or layout != theirs:
            return None
        chance = self.moved and layout != "rows" and a.shape == b.shape
        return None if chance and _same(a, b) else layout


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return bool(torch.allclose(a.double(), b.to(a.device).double(), rtol=1e-6))


def _one_kind(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Say whether both are numbers or both are not: masks come as either."""
    return (a.dtype == torch.bool) == (b.dtype == torch.bool)
