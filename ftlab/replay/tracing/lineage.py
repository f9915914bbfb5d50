"""Which operations led to a value, and in what range theirs were.

The survey notes for each operation which earlier ones it read from and the range of
what it made. From the culprit the chain runs back along the most unusual of its inputs
to the first one that is in order: there the trouble begins.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from ftlab.replay.stops.report import TensorFacts
from ftlab.replay.torch_private import storage_key
from ftlab.replay.tracing.finite import extent, non_finite_counts, tensor_leaves
from ftlab.replay.tracing.traits import read_arguments, traits

LARGE = 1e3
"""Magnitudes above it are pointed out; what that is in healthy steps: see `unusual`."""

LONGEST = 12
"""Operations that a chain shows at most."""


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
        Counts of non-finite values.
    """

    low: float
    high: float
    shape: tuple[int, ...]
    dtype: torch.dtype
    nans: int = 0
    infs: int = 0

    @classmethod
    def of(cls, tensor: torch.Tensor) -> "Range | None":
        """Measure ``tensor``; ``None`` where it has no values."""
        found = extent(tensor)
        if found is None:
            return None
        counts = (0, 0) if all(map(math.isfinite, found)) else non_finite_counts(tensor)
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


@dataclass(frozen=True, slots=True)
class Ancestor:
    """One link of a chain.

    Attributes
    ----------
    index
        The operation that made the tensor; -1 when it existed before the step.
    name
        Of a tensor that existed before: ``parameter lm_head.weight``.
    """

    index: int
    name: str
    range: Range


@dataclass(slots=True)
class _Source:
    name: str
    tensor: torch.Tensor


@dataclass(slots=True)
class Made:
    """What an operation has done.

    Attributes
    ----------
    parents
        The operations that made what it read; negative for what was there before, see
        `Lineage.source`.
    range
        Of the most unusual tensor it made; ``None`` for a view, which makes none.
    func
        The operator overload.
    """

    parents: tuple[int, ...]
    range: Range | None
    func: Any


@dataclass
class Lineage:
    """Who read from whom in one survey."""

    _ops: dict[int, Made] = field(default_factory=dict)
    _sources: list[_Source] = field(default_factory=list)
    _writer: dict[int, int] = field(default_factory=dict)

    def register(self, source: str, name: str, tensor: Any) -> None:
        """Name a tensor that exists before the step."""
        for part in tensor_leaves(tensor):
            self._sources.append(_Source(f"{source} {name}".strip(), part))
            self._writer[storage_key(part)] = -len(self._sources)

    def record(
        self,
        index: int,
        func: Any,
        call: tuple[tuple[Any, ...], dict[str, Any]],
        outputs: Any,
    ) -> None:
        """Note what an operation has read and made; it has run already."""
        read = tensor_leaves([value for _, value in read_arguments(func, *call)])
        parents = dict.fromkeys(self._writer_of(tensor) for tensor in read)
        if traits(func).view:
            self._ops[index] = Made(tuple(parents), None, func)
            return
        made = tensor_leaves(outputs)
        ranges = [found for each in made if (found := Range.of(each)) is not None]
        widest = max(ranges, key=lambda found: found.oddity, default=None)
        self._ops[index] = Made(tuple(parents), widest, func)
        for tensor in made:
            self._writer[storage_key(tensor)] = index

    def parents(self, index: int) -> tuple[int, ...]:
        """Return the operations that the one at ``index`` read from."""
        made = self._ops.get(index)
        return () if made is None else tuple(p for p in made.parents if p >= 0)

    def writer_of(self, tensor: torch.Tensor) -> int:
        """Return the operation that made a tensor; negative if it was there before."""
        return self._writer.get(storage_key(tensor), -1)

    def _writer_of(self, tensor: torch.Tensor) -> int:
        key = storage_key(tensor)
        if key not in self._writer:
            self.register("a tensor of no operation", "", tensor)
        return self._writer[key]

    def made(self, index: int) -> Made | None:
        """Return what the operation at ``index`` has done, if it was seen."""
        return self._ops.get(index)

    def source(self, parent: int) -> str:
        """Return the name of what existed before the step, by its negative number."""
        return self._sources[-parent - 1].name

    def chain(self, index: int) -> tuple[Ancestor, ...]:
        """Follow the most unusual inputs back from the operation at ``index``.

        The first ancestor that is in order ends the chain and is part of it.
        """
        links: list[Ancestor] = []
        while len(links) < LONGEST:
            parents = self._ops[index].parents if index in self._ops else ()
            found = max(
                self._ancestors(parents),
                key=lambda each: each.range.oddity,
                default=None,
            )
            if found is None:
                break
            links.append(found)
            index = found.index
            if index < 0 or not found.range.unusual:
                break
        return tuple(links)

    def is_non_finite(self, index: int) -> bool:
        """Say whether the operation at ``index`` made a NaN or an infinity."""
        made = self._ops.get(index)
        found = None if made is None else made.range
        return found is not None and not math.isfinite(found.magnitude)

    def _ancestors(self, parents: tuple[int, ...]) -> Iterator[Ancestor]:
        for parent in parents:
            if parent < 0:
                source = self._sources[-parent - 1]
                found = Range.of(source.tensor)
                if found is not None:
                    yield Ancestor(-1, source.name, found)
            elif parent in self._ops:
                made = self._ops[parent].range
                if made is not None:
                    yield Ancestor(parent, "", made)
