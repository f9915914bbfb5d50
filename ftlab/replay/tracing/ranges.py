"""In what range the values of a tensor are, and whether that is out of the ordinary."""

import math
from dataclasses import dataclass

import torch

from ftlab.replay.stops.report import TensorFacts
from ftlab.replay.tracing.finite import extent, non_finite_counts

LARGE = 1e3
"""Magnitudes above it are pointed out; what that is in healthy steps: see `unusual`."""


@dataclass(frozen=True, slots=True)
class Range:
    """The smallest and the largest value of a tensor.

    Attributes
    ----------
    low, high
        NaN where there is one in the tensor; infinities count.
    shape, dtype
        Of the tensor.
    nans, infs
        Counts of non-finite values; -1 where there are some that were not counted.
    """

    low: float
    high: float
    shape: tuple[int, ...]
    dtype: torch.dtype
    nans: int = 0
    infs: int = 0

    @classmethod
    def of(cls, tensor: torch.Tensor, *, count: bool = True) -> "Range | None":
        """Measure ``tensor``; ``None`` where it has no values.

        To ``count`` what is not finite costs several times as much as the rest.
        """
        found = extent(tensor)
        if found is None:
            return None
        counts = (-math.isnan(found[0]), -any(map(math.isinf, found)))
        if count and any(counts):
            counts = non_finite_counts(tensor)
        return cls(*found, tuple(tensor.shape), tensor.dtype, *counts)

    def facts(self) -> TensorFacts:
        """Return it as a report shows it."""
        dtype = str(self.dtype).removeprefix("torch.")
        low, high = (None if math.isnan(v) else v for v in (self.low, self.high))
        return TensorFacts("", dtype, self.shape, low, high)

    @property
    def magnitude(self) -> float:
        """The largest magnitude; NaN propagates."""
        if math.isnan(self.low) or math.isnan(self.high):
            return math.nan
        return max(abs(self.low), abs(self.high))

    @property
    def oddity(self) -> float:
        """How far from ordinary, in powers of ten from 1; all zero counts as 45."""
        largest = self.magnitude
        if not math.isfinite(largest):
            return math.inf
        return 45.0 if largest == 0 else abs(math.log10(largest))

    @property
    def is_number(self) -> bool:
        """Whether the tensor holds more than true and false."""
        return self.dtype != torch.bool

    @property
    def ends_at_zero(self) -> bool:
        """Whether its values, of one sign, include zero."""
        return self.low == 0 or self.high == 0

    @property
    def unusual(self) -> bool:
        """Whether a reader should look at it.

        It is when it is non-finite, zero everywhere, below the smallest normal number
        of its dtype, above `LARGE`, or above 1/64 of what the dtype can hold.
        """
        largest = self.magnitude
        if not math.isfinite(largest) or largest == 0:
            return True
        if not self.dtype.is_floating_point:
            return False
        limits = torch.finfo(self.dtype)
        return largest > min(LARGE, limits.max / 64) or largest < limits.tiny
