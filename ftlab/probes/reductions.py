"""Norms of many tensors at once, accumulated in float32, non-finite values kept."""

from collections.abc import Callable, Sequence

import torch

from ftlab.probes.torch_private import foreach_l2, foreach_max

Reduction = Callable[[Sequence[torch.Tensor]], torch.Tensor]


def l2_norms(tensors: Sequence[torch.Tensor | None]) -> torch.Tensor:
    """Return each tensor's L2 norm; NaN where there is no tensor.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.reductions import l2_norms
    >>> l2_norms([torch.tensor([3.0, 4.0]), None])
    tensor([5., nan])
    >>> l2_norms([torch.full((4,), 60000.0, dtype=torch.float16)])
    tensor([120000.])
    """
    return _by_kind(tensors, _l2)


def max_magnitudes(tensors: Sequence[torch.Tensor | None]) -> torch.Tensor:
    """Return each tensor's largest magnitude; NaN where there is no tensor.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.reductions import max_magnitudes
    >>> max_magnitudes([torch.tensor([3.0, -4.0]), torch.tensor([1.0, torch.nan])])
    tensor([4., nan])
    """
    return _by_kind(tensors, _max)


def _by_kind(tensors: Sequence[torch.Tensor | None], reduce: Reduction) -> torch.Tensor:
    """Reduce tensors of one device and dtype together."""
    kinds: dict[tuple[torch.device, torch.dtype], list[int]] = {}
    dense: list[torch.Tensor] = []
    for index, tensor in enumerate(tensors):
        if tensor is not None:
            if type(tensor) is not torch.Tensor or tensor.layout is not torch.strided:
                tensor = _dense(tensor)
            kinds.setdefault((tensor.device, tensor.dtype), []).append(index)
            dense.append(tensor)
    if len(kinds) == 1 and len(dense) == len(tensors):
        return reduce(dense)
    return _scattered(
        dict(zip(_indices(tensors), dense, strict=True)), kinds, reduce, len(tensors)
    )


def _indices(tensors: Sequence[torch.Tensor | None]) -> list[int]:
    return [index for index, tensor in enumerate(tensors) if tensor is not None]


def _scattered(
    dense: dict[int, torch.Tensor],
    kinds: dict[tuple[torch.device, torch.dtype], list[int]],
    reduce: Reduction,
    size: int,
) -> torch.Tensor:
    """Reduce each kind by itself and put the results into one vector.

    It lives on the device of the first tensor: a model spread over devices is gathered
    there, by copies that do not wait.
    """
    first = next(iter(kinds), (torch.device("cpu"), torch.float32))[0]
    result = torch.full((size,), torch.nan, device=first)
    for indices in kinds.values():
        part = reduce([dense[index] for index in indices])
        part = part.to(first, non_blocking=first.type == "cuda")
        if first.type == "cuda":  # an index list would be copied to the device, waiting
            for index, value in zip(indices, part.unbind(), strict=True):
                result[index].copy_(value)
        else:
            result[torch.tensor(indices)] = part
    return result


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    """Return a plain tensor with the same norms: the values, or the local shard."""
    if tensor.layout is torch.sparse_coo:
        return tensor.coalesce().values()
    if tensor.layout is not torch.strided:
        return tensor.values()
    local = getattr(tensor, "to_local", None)
    return tensor if local is None else local()


def _l2(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    if tensors[0].is_complex():
        tensors = [torch.view_as_real(each.resolve_conj()) for each in tensors]
    return torch.stack(foreach_l2(tensors)).float()


def _max(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    if any(each.numel() == 0 for each in tensors):
        tensors = [each if each.numel() else each.new_zeros(1) for each in tensors]
    if tensors[0].is_complex():
        tensors = [each.abs() for each in tensors]
    if tensors[0].device.type != "cpu":
        return torch.stack(foreach_max(tensors)).float()
    # The infinity norm is not vectorised on the CPU: 20 times slower than this.
    ends = [torch.aminmax(each) for each in tensors]
    low = torch.stack([each.min for each in ends])
    high = torch.stack([each.max for each in ends])
    return torch.maximum(low.abs_(), high.abs_()).float()
