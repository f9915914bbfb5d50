"""Masks that are evaluated where somebody looks, never as a whole.

`Pattern.tile` gives the part of a mask for some queries and keys of one row of the
batch. Everything else (counts, grids) is made from tiles.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

Indices = NDArray[np.int64]
Tile = NDArray[np.bool_]
HIDDEN = -9_999.0
"""An additive mask hides what it lowers at least so far: masks of -10,000 are the
mildest ones in use, and e to that power is 0 in every precision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern(ABC):
    """A mask of ``queries`` x ``keys`` for each row of a batch.

    Attributes
    ----------
    offset
        Key at which the first query stands: virtual tokens or a cache come before.
    """

    queries: int
    keys: int
    offset: int = 0

    @abstractmethod
    def tile(self, row: int, queries: Indices, keys: Indices) -> Tile:
        """Return whether each of ``queries`` attends to each of ``keys``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EverythingSeen(Pattern):
    """No mask at all."""

    def tile(self, row: int, queries: Indices, keys: Indices) -> Tile:
        """Return all true."""
        return np.ones((len(queries), len(keys)), dtype=bool)


@dataclass(frozen=True, slots=True, kw_only=True)
class CausalOnly(Pattern):
    """``is_causal`` of scaled_dot_product_attention, aligned at the upper left."""

    def tile(self, row: int, queries: Indices, keys: Indices) -> Tile:
        """Return whether keys are not behind their queries."""
        result: Tile = keys[None, :] <= queries[:, None]
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class FromFunction(Pattern):
    """A mask function of transformers, with the padding that goes with it.

    Attributes
    ----------
    function
        Of batch, head, query and key index, as transformers writes them.
    query_start, key_start
        What is added to the indices.
    padding
        Bool of shape ``(rows, keys)``, or ``None``.
    mapped
        Whether the function takes single indices only, so that it needs `torch.vmap`.
    """

    function: Callable[..., Any]
    query_start: int = 0
    key_start: int = 0
    padding: torch.Tensor | None = None
    mapped: bool = False
    device: Any = "cpu"

    def tile(self, row: int, queries: Indices, keys: Indices) -> Tile:
        """Call the function for these indices alone."""
        b = torch.tensor([row], device=self.device)
        head = torch.zeros(1, dtype=torch.long, device=self.device)
        q = torch.from_numpy(queries).to(self.device) + self.query_start
        k = torch.from_numpy(keys).to(self.device) + self.key_start
        with torch.no_grad():
            if self.mapped:
                seen = _mapped(self.function)(b, head, q, k)
            else:
                seen = self.function(
                    b[:, None, None, None],
                    head[None, :, None, None],
                    q[None, None, :, None],
                    k[None, None, None, :],
                )
            seen = seen.expand(1, 1, len(q), len(k))[0, 0]
            if self.padding is not None:
                seen = seen & self.padding[row, k]
        return np.ascontiguousarray(seen.cpu().numpy())


@dataclass(frozen=True, slots=True, kw_only=True)
class FromTensor(Pattern):
    """A mask that somebody made: ``(rows, heads, queries, keys)``, bool or additive.

    A pair is seen where any head sees it.

    Attributes
    ----------
    values
        One row or one head stands for all.
    causal
        Whether the attention hides what comes later by itself.
    """

    values: torch.Tensor
    causal: bool = False

    def tile(self, row: int, queries: Indices, keys: Indices) -> Tile:
        """Read the tensor at these indices."""
        values = self.values[min(row, len(self.values) - 1)]
        q = torch.from_numpy(np.minimum(queries, values.shape[-2] - 1))
        k = torch.from_numpy(keys)
        part = values[:, q.to(values.device)][:, :, k.to(values.device)]
        seen = part if part.dtype == torch.bool else part > HIDDEN
        result: Tile = seen.any(0).cpu().numpy()
        result = np.broadcast_to(result, (len(queries), len(keys)))
        if self.causal:
            result = result & (keys[None, :] <= queries[:, None] + self.offset)
        return np.ascontiguousarray(result)


@dataclass(frozen=True, slots=True, kw_only=True)
class FromDocuments(Pattern):
    """Documents that cannot see each other, as flash attention's kernels take them.

    Attributes
    ----------
    numbers
        Document of each position, -1 for none, of shape ``(rows, keys)``.
    places
        Place of each position within its document.
    window
        How far back (and, unless ``causal``, ahead) a query sees; 0 for all.
    """

    numbers: NDArray[np.int64]
    places: NDArray[np.int64]
    causal: bool = True
    window: int = 0

    def tile(self, row: int, queries: Indices, keys: Indices) -> Tile:
        """Compare documents and places."""
        at = queries + self.offset
        numbers, places = self.numbers[row], self.places[row]
        seen = (numbers[at][:, None] == numbers[keys]) & (numbers[keys] >= 0)
        ahead = places[at][:, None] - places[keys]
        if self.causal:
            seen &= ahead >= 0
        if self.window:
            seen &= np.abs(ahead) < self.window
        return np.ascontiguousarray(seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Both(Pattern):
    """What two masks let through."""

    first: Pattern
    second: Pattern

    def tile(self, row: int, queries: Indices, keys: Indices) -> Tile:
        """Return where both see."""
        first = self.first.tile(row, queries, keys)
        return first & self.second.tile(row, queries, keys)


def _mapped(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function of four single indices take ranges of them."""
    from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

    over: list[tuple[int | None, ...]] = [(None, None, None, 0), (None, None, 0, None)]
    over += [(None, 0, None, None), (0, None, None, None)]
    for dimensions in over:
        function = torch.vmap(function, in_dims=dimensions, out_dims=0)

    def called(*indices: torch.Tensor) -> Any:
        with TransformGetItemToIndex():
            return function(*indices)

    return called
