"""How the values of a tensor are spread, counted where the tensor lies."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.replay.stops.report import digits
from ftlab.replay.tracing.finite import measurable

BINS = 16
MOST = 1_000_000
"""Larger tensors are counted at every n-th value, the non-finite ones in full."""
WIDE = 1e3
"""A largest magnitude so many times the median one is shown in powers of ten."""
DECADES = 14
"""So many powers of ten below the largest are told apart."""
_BAR = 24


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of a tensor's values.

    Attributes
    ----------
    edges, counts
        Of the finite values; one edge more than there are counts. Ascending, the last
        edge included.
    total, nans, infs
        How many values there are, and how many of them are not finite.
    every
        1 when each finite value was counted, 10 when every tenth was.
    decades
        Whether the edges are powers of ten, not equally wide.

    Examples
    --------
    >>> import torch
    >>> from ftlab.replay.stops.histogram import Histogram
    >>> Histogram.of(torch.tensor([-9.0, -2.0, 0.0, 300.0, 5e6, float("nan")]))
    6 values, 1 NaN; in powers of ten
            -10 to -1        ######################## 2
             -1 to 1         ############ 1
            100 to 1e+03     ############ 1
          1e+06 to 1e+07     ############ 1
    """

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    total: int
    nans: int = 0
    infs: int = 0
    every: int = 1
    decades: bool = False

    @classmethod
    def of(cls, tensor: Any) -> "Histogram | None":
        """Count the values of ``tensor``; ``None`` where it has none of a float."""
        values = measurable(tensor)
        if values is None:
            return None
        total, flat = values.numel(), values.reshape(-1)
        nans, infs = int(flat.isnan().sum()), int(flat.isinf().sum())
        every = -(-total // MOST)
        sample = flat[::every].double().cpu().numpy()
        finite = sample[np.isfinite(sample)]
        if not finite.size:
            return cls((), (), total, nans, infs, every)
        edges, decades = _edges(finite)
        counts, _ = np.histogram(finite, edges)
        shown = tuple(map(float, edges)), tuple(map(int, counts))
        return cls(*shown, total, nans, infs, every, decades)

    def headline(self) -> str:
        """Say how many values there are and how many of them are not finite."""
        parts = [f"{self.total:,} value" + ("" if self.total == 1 else "s")]
        parts += [f"{self.nans:,} NaN"] if self.nans else []
        parts += [f"{self.infs:,} Inf"] if self.infs else []
        text = ", ".join(parts)
        text += "; in powers of ten" if self.decades else ""
        return text + (f"; one in {self.every:,} counted" if self.every > 1 else "")

    def __repr__(self) -> str:
        rows, most = [self.headline()], max(self.counts, default=1)
        pairs = zip(self.edges, self.edges[1:], strict=False)
        for (low, high), quantity in zip(pairs, self.counts, strict=True):
            if quantity:
                bar = "#" * max(round(_BAR * quantity / most), 1)
                rows.append(f"  {digits(low):>9} to {digits(high):<9} {bar} {quantity}")
        return "\n".join(rows)


def _edges(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], bool]:
    """Choose edges, and say whether they are powers of ten."""
    low, high = float(values.min()), float(values.max())
    sizes = np.abs(values[values != 0])
    wide = sizes.size > 0 and sizes.max() > WIDE * np.median(sizes)
    if low == high:
        return np.array([low, high]), False
    if not wide:
        return np.linspace(low, high, BINS + 1), False
    top = min(int(np.ceil(np.log10(sizes.max()))), 308)
    bottom = max(int(np.floor(np.log10(sizes.min()))), top - DECADES)
    powers = 10.0 ** np.arange(bottom, top + 1)
    # What is smaller than the smallest power stands in the middle, with zero.
    left = -powers[::-1] if low < 0 else np.zeros(1)
    right = powers if high > 0 else np.zeros(1)
    edges = np.concatenate([left, right])
    edges[0], edges[-1] = min(edges[0], low), max(edges[-1], high)
    return edges, True
