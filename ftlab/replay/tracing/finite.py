"""Which values are non-finite, asked cheaply."""

import math
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import torch
from torch.utils._pytree import tree_leaves

from ftlab.replay.capsules.kept import Grouped
from ftlab.replay.torch_private import sparse_values

NonFinite = Literal["nan", "inf"]


_USUAL = {torch.Tensor, torch.nn.Parameter}

_PLAIN = {torch.float16, torch.bfloat16, torch.float32, torch.float64}


def is_plain(tensor: torch.Tensor) -> bool:
    """Tell whether a tensor is one of the usual floats in ordinary memory."""
    usual = tensor.dtype in _PLAIN and tensor.layout is torch.strided
    return usual and not tensor.is_meta


def measurable(value: Any) -> torch.Tensor | None:
    """Return ``value`` as a strided float tensor, ``None`` if it is nothing like it."""
    if not isinstance(value, torch.Tensor):
        return None
    tensor = value.detach()
    if is_plain(tensor) and tensor.numel():
        return tensor
    if tensor.layout == torch.sparse_coo:
        tensor = sparse_values(tensor)
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    if not tensor.is_floating_point() or tensor.numel() == 0 or tensor.is_meta:
        return None
    if tensor.dtype.itemsize == 1:  # the 8-bit formats have next to no arithmetic
        tensor = tensor.float()
    return tensor


def non_finite(value: Any) -> NonFinite | None:
    """Return ``"nan"``, ``"inf"`` or ``None``; one reduction where all is well.

    Examples
    --------
    >>> import torch
    >>> from ftlab.replay.tracing.finite import non_finite
    >>> non_finite(torch.tensor([1.0, float("-inf")]))
    'inf'
    >>> non_finite(torch.tensor([float("inf"), float("nan")]))
    'nan'
    >>> non_finite(torch.tensor([65504.0, 65504.0], dtype=torch.float16)) is None
    True
    >>> non_finite("text") is None
    True
    """
    tensor = measurable(value)
    if tensor is None:
        return None
    low, high = _ends(tensor)
    if math.isnan(low):
        return "nan"
    return "inf" if math.isinf(low) or math.isinf(high) else None


def extent(tensor: torch.Tensor) -> tuple[float, float] | None:
    """Return the smallest and the largest value, both NaN where one is.

    ``None`` for tensors that have no order or no values.

    Examples
    --------
    >>> import torch
    >>> from ftlab.replay.tracing.finite import extent
    >>> extent(torch.tensor([3, -1])), extent(torch.tensor([True, False]))
    ((-1.0, 3.0), (0.0, 1.0))
    >>> extent(torch.tensor([1.0, float("nan")]))
    (nan, nan)
    >>> extent(torch.zeros(0)) is None
    True
    """
    values = measurable(tensor)
    if values is None:
        whole = tensor.detach()
        if tensor.is_complex() or tensor.layout != torch.strided or tensor.is_meta:
            return None
        if not tensor.numel() or tensor.is_quantized:
            return None
        values = whole.byte() if whole.dtype == torch.bool else whole
    return _ends(values)


def non_finite_counts(value: Any) -> tuple[int, int]:
    """Return how many NaN and how many infinities a tensor holds.

    Examples
    --------
    >>> import torch
    >>> from ftlab.replay.tracing.finite import non_finite_counts
    >>> non_finite_counts(torch.tensor([1.0, float("nan"), float("-inf")]))
    (1, 1)
    """
    tensor = measurable(value)
    if tensor is None:
        return 0, 0
    counts = torch.stack((tensor.isnan().sum(), tensor.isinf().sum())).tolist()
    return int(counts[0]), int(counts[1])


def _ends(tensor: torch.Tensor) -> tuple[float, float]:
    """Find both ends in one pass; a NaN shows in both."""
    low, high = torch.stack(torch.aminmax(tensor)).tolist()
    return float(low), float(high)


def all_finite(tensors: Iterable[torch.Tensor]) -> bool:
    """Say whether every value of all ``tensors`` is finite.

    One read-back where all is well. The L2 norm is an order of magnitude faster than
    the largest value on a CPU; it may overflow on huge values that are finite, so a
    non-finite norm is only a suspicion.
    """
    plain = []
    for each in tensors:
        usual = type(each) in _USUAL and is_plain(each) and each.numel()
        tensor = each if usual else measurable(each)
        if tensor is not None:
            plain.append(tensor)
    return surely_finite(Grouped(plain)) or all(non_finite(t) is None for t in plain)


def surely_finite(grouped: Grouped) -> bool:
    """Say whether tensors, see `is_plain`, are finite by their norm."""
    few = grouped.joined()
    with torch.no_grad():
        return not few or bool(torch.isfinite(torch.nn.utils.get_total_norm(few)))


def float_leaves(values: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors within nested containers that can hold non-finite values."""
    leaves = (values,) if isinstance(values, torch.Tensor) else tree_leaves(values)
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor) and (
            leaf.is_floating_point() or leaf.is_complex()
        ):
            yield leaf


def tensor_leaves(values: Any) -> list[torch.Tensor]:
    """Return the tensors within nested containers."""
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]
