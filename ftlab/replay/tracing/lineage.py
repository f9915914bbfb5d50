"""Which operations led to a value, and in what range theirs were.

The survey notes for each operation which earlier ones it read from and the range of
what it made. From the culprit the chain runs back along the input that made the trouble
(a divisor that is zero), or else the most unusual one, to the first that is in order:
there the trouble begins.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from ftlab.replay.torch_private import storage_key
from ftlab.replay.tracing.finite import tensor_leaves
from ftlab.replay.tracing.ranges import Range as Range
from ftlab.replay.tracing.traits import read_arguments, traits
from ftlab.replay.tracing.trouble import (
    is_copy,
    is_creation,
    is_division,
    troublemaker,
)

LONGEST = 12
"""Operations that a chain shows at most."""

COUNTED = 64
"""Results of which the non-finite values are counted; more would cost too much."""


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
    range: Range | None = None


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
    trouble
        Which parent's values made it non-finite, where that can be told.
    """

    parents: tuple[int, ...]
    range: Range | None
    func: Any
    trouble: int | None = None


def _most_telling(inputs: list[Ancestor], made: Made) -> Ancestor | None:
    """Choose among the inputs of an operation whose own range is known."""
    own = math.nan if made.range is None else made.range.magnitude
    bad = [each for each in inputs if not math.isfinite(each.range.magnitude)]
    if bad and not math.isfinite(own):
        return bad[0]
    # What is finite was not made by an infinity, nor by what is zero everywhere.
    fine = [each for each in inputs if each not in bad and each.range.magnitude]
    if not is_division(made.func) and not own < 1:
        return max(fine or inputs, key=lambda each: each.range.magnitude, default=None)
    return max(fine or inputs, key=lambda each: each.range.oddity, default=None)


@dataclass
class Lineage:
    """Who read from whom in one survey."""

    _ops: dict[int, Made] = field(default_factory=dict)
    _sources: list[_Source] = field(default_factory=list)
    _writer: dict[int, int] = field(default_factory=dict)
    _bad: int = 0

    def register(
        self, source: str, name: str, tensor: Any, *, written: bool = False
    ) -> None:
        """Name a tensor that exists before the step.

        Parameters
        ----------
        source, name, tensor
            What it is, and its own name.
        written
            Whether the step will write it, so that it must be measured now.
        """
        for part in tensor_leaves(tensor):
            found = Range.of(part) if written else None
            self._sources.append(_Source(f"{source} {name}".strip(), part, found))
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
        count = self._bad < COUNTED
        found = [Range.of(each, count=count) for each in made]
        ranges = [each for each in found if each is not None]
        widest = max(ranges, key=lambda each: each.oddity, default=None)
        trouble = None
        if widest is not None and not math.isfinite(widest.magnitude):
            self._bad += 1
            operand = troublemaker(func, call, outputs)
            trouble = None if operand is None else self._writer_of(operand)
        self._ops[index] = Made(tuple(parents), widest, func, trouble)
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
        """Follow what made the trouble back from the operation at ``index``.

        The first ancestor that is in order ends the chain and is part of it.
        """
        links: list[Ancestor] = []
        zero = False
        while len(links) < LONGEST:
            found, zero = self._behind(index, zero=zero)
            if found is None:
                break
            links.append(found)
            index = found.index
            if index < 0 or not (zero or found.range.unusual or self._hands_on(found)):
                break
        return tuple(links)

    def _hands_on(self, found: Ancestor) -> bool:
        """Say whether what it shows was decided by its own inputs: masks and copies."""
        made = self._ops.get(found.index)
        return made is not None and (is_copy(made.func) or not found.range.is_number)

    def _behind(self, index: int, *, zero: bool) -> tuple[Ancestor | None, bool]:
        """Return the input to follow, and whether for the zeros in it.

        Parameters
        ----------
        zero
            Whether the operation itself was followed for its zeros.
        """
        made = self._ops.get(index)
        if made is None or is_creation(made.func):
            return None, False
        if made.trouble is not None:
            found = next(self._ancestors((made.trouble,)), None)
            return found, found is not None and found.range.ends_at_zero
        inputs = list(self._ancestors(made.parents))
        own = made.range
        if own is not None and (zero or own.magnitude == 0) and own.is_number:
            ends = [each for each in inputs if each.range.ends_at_zero]
            if ends:
                return min(ends, key=lambda each: each.range.magnitude), True
        found = _most_telling(inputs, made)
        return found, zero and found is not None and self._hands_on(found)

    def is_non_finite(self, index: int) -> bool:
        """Say whether the operation at ``index`` made a NaN or an infinity."""
        made = self._ops.get(index)
        found = None if made is None else made.range
        return found is not None and not math.isfinite(found.magnitude)

    def _ancestors(self, parents: tuple[int, ...]) -> Iterator[Ancestor]:
        for parent in parents:
            if parent < 0:
                source = self._sources[-parent - 1]
                found = source.range or Range.of(source.tensor)
                if found is not None:
                    yield Ancestor(-1, source.name, found)
            elif parent in self._ops:
                made = self._ops[parent].range
                if made is not None:
                    yield Ancestor(parent, "", made)
