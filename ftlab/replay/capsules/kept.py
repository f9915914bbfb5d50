"""Tensors that a step must find unchanged when it runs again.

Small ones are copied. Large ones are only remembered with their version: copying them
in every step would cost, and a step that changes them in place cannot be run again,
which `KeptTensor.obstacle` says.
"""

import contextlib
import functools
from collections.abc import Sequence
from typing import Any

import torch

from ftlab.replay.torch_private import bytes_of, flattened, parted, version

COPIED_ELEMENTS = 1 << 16
"""Up to this many elements a tensor is copied."""

SAMPLED_ELEMENTS = 16

_PLAIN = (torch.Tensor, torch.nn.Parameter)
_BITS = {
    torch.float16: torch.int16,
    torch.bfloat16: torch.int16,
    torch.float32: torch.int32,
    torch.float64: torch.int64,
}


class KeptTensor:
    """One tensor, restorable in place.

    Parameters
    ----------
    name
        What the tensor is called in messages.
    tensor
        The live tensor.
    copied
        Keep a copy, or only the version.
    sampled
        Look at a few values where there is no copy: NumPy writes without a version.
    """

    __slots__ = ("_copy", "_sample", "_version", "name", "tensor")

    def __init__(
        self,
        name: str,
        tensor: torch.Tensor,
        *,
        copied: bool,
        sampled: bool = False,
    ) -> None:
        self.name = name
        self.tensor = tensor
        self._version = version(tensor)
        self._copy = tensor.detach().clone() if copied else None
        sampled &= not copied and tensor.layout == torch.strided
        self._sample = sample(tensor) if sampled else None

    @classmethod
    def of(
        cls, name: str, tensor: torch.Tensor, *, sampled: bool = False
    ) -> "KeptTensor":
        """Keep ``tensor``, with a copy if it is small."""
        small = tensor.numel() <= COPIED_ELEMENTS
        return cls(name, tensor, copied=small, sampled=sampled)

    @property
    def changed(self) -> bool:
        """Whether the tensor was written to since it was kept."""
        return version(self.tensor) != self._version

    @property
    def value(self) -> torch.Tensor:
        """What the tensor held when it was kept; see `obstacle`."""
        return self.tensor.detach() if self._copy is None else self._copy

    def obstacle(self) -> str | None:
        """Say why the tensor cannot be restored, if so."""
        taken = self._sample
        rewritten = taken is not None and differ(sample(self.tensor), taken)
        if self._copy is None and (self.changed or rewritten):
            return f"{self.name} was changed in place and is too large to be copied"
        return None

    def copy_now(self) -> None:
        """Copy the tensor if it is still what it was."""
        if self._copy is None and not self.changed:
            self._copy = self.tensor.detach().clone()

    def restore(self) -> None:
        """Write the kept values back, if they were changed."""
        if self._copy is None:
            return
        # Batch norm moves its running statistics without counting up their version.
        dense = self.tensor.layout == torch.strided
        if not self.changed and (
            not dense or torch.equal(self.tensor.detach(), self._copy)
        ):
            return
        with torch.no_grad():
            self.tensor.detach().copy_(self._copy)
        self._version = version(self.tensor)


class Grouped:
    """Tensors of which small ones of a kind are copied by one operation for hundreds.

    They are grouped once. Who gives one of them other memory by its ``.data``, of
    another dtype, device or size, is found out when they are next put together.

    Parameters
    ----------
    tensors
        They are read whenever somebody asks for them.

    Attributes
    ----------
    tensors
        As they were passed.
    indices
        Of the tensors, group by group.
    """

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        self.tensors = tensors
        self._group()

    def _group(self) -> None:
        self.indices = alike(self.tensors)
        self._groups = [[self.tensors[i] for i in own] for own in self.indices]
        vars(self).pop("shapes", None)  # of the groups before
        self._kinds = [
            (group[0].dtype, sum(each.numel() for each in group))
            for group in self._groups
        ]

    @functools.cached_property
    def shapes(self) -> list[list[torch.Size]]:
        """The shapes of each group's tensors."""
        return [[each.shape for each in group] for group in self._groups]

    def joined(self) -> list[torch.Tensor]:
        """Copy each group end to end; a tensor that is alone is given itself."""
        with contextlib.suppress(RuntimeError):  # they are not of one device any more
            found = self._joined()
            if [(each.dtype, each.numel()) for each in found] == self._kinds:
                return found
        self._group()
        return self._joined()

    def _joined(self) -> list[torch.Tensor]:
        with torch.no_grad():
            return [
                flattened(group) if len(group) > 1 else group[0].detach()
                for group in self._groups
            ]


class Copies:
    """Copies of tensors, taken apart when somebody asks for them.

    Parameters
    ----------
    grouped
        They are copied now.
    """

    def __init__(self, grouped: Grouped) -> None:
        joined = grouped.joined()
        self._indices, self._shapes = grouped.indices, grouped.shapes
        self._copied = [
            each.clone() if len(own) == 1 else each
            for own, each in zip(self._indices, joined, strict=True)
        ]

    @functools.cached_property
    def values(self) -> list[torch.Tensor]:
        """The copies, in the order of the tensors."""
        found: dict[int, torch.Tensor] = {}
        groups = zip(self._indices, self._shapes, self._copied, strict=True)
        for indices, shapes, copied in groups:
            parts = [copied] if len(shapes) == 1 else parted(copied, shapes)
            found.update(zip(indices, parts, strict=True))
        return [found[index] for index in range(len(found))]

    @property
    def nbytes(self) -> int:
        """Bytes of them all."""
        return sum(map(bytes_of, self._copied))


def alike(tensors: Sequence[torch.Tensor]) -> list[list[int]]:
    """Group tensors that one operation can take: small ones of a kind, others alone."""
    kinds: dict[Any, list[int]] = {}
    for index, tensor in enumerate(tensors):
        plain = type(tensor) in _PLAIN and tensor.layout == torch.strided
        small = plain and tensor.numel() <= COPIED_ELEMENTS
        kind = (tensor.dtype, tensor.device) if small else index
        kinds.setdefault(kind, []).append(index)
    return list(kinds.values())


def sample(tensor: torch.Tensor) -> Any:
    """Copy a few values, spread over ``tensor``: as bits where they are on the CPU."""
    data = tensor.detach()
    if hasattr(data, "to_local"):  # a shard: what this process holds of it
        data = data.to_local()
    bits = _BITS.get(data.dtype) if data.is_cpu and data.is_contiguous() else None
    if bits is not None:
        words = data.view(-1).view(bits).numpy()
        return words[:: max(1, len(words) // SAMPLED_ELEMENTS)].tobytes()
    values = data.flatten()
    return values[:: max(1, values.numel() // SAMPLED_ELEMENTS)].clone()


def differ(first: Any, second: Any) -> bool:
    """Say whether two samples differ; NaN is equal to NaN.

    Examples
    --------
    >>> import torch
    >>> from ftlab.replay.capsules.kept import differ, sample
    >>> weight = torch.ones(100)
    >>> before = sample(weight)
    >>> weight.data -= 0.1
    >>> differ(sample(weight), before)
    True
    """
    if isinstance(first, bytes):
        return bool(first != second)
    same = (first == second) | (first.isnan() & second.isnan())
    return not bool(same.all())
