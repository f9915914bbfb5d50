"""Norms of many tensors at once, accumulated in float32, non-finite values kept."""

import contextlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.tensors.host import as_array
from ftlab.probes.torch_private import flattened, foreach_l2, foreach_max

Reduction = Callable[[Sequence[torch.Tensor]], torch.Tensor]
"""From n tensors of one kind to a vector of n values, or several such rows."""

CACHED = 2**20
"""Bytes read in a row before they are read again, on the CPU.

Both norms of 111 MB of gradients took 9.1 ms in pieces of this size and 11.0 ms one
after the other (one thread, 2 MB of L2 cache, medians of 15).
"""

SMALL = 2**14
"""Elements of a tensor up to which it is copied together with others, on the CPU.

Within a training, both norms of 144 gradients took 0.4 ms, and 0.64 ms where those of
one shape were stacked and reduced by torch.
"""

SQUARED = 1e15
"""Largest magnitude, and one over the smallest, whose squares float32 holds well."""


def l2_norms(tensors: Sequence[torch.Tensor | None]) -> torch.Tensor:
    """Return each tensor's L2 norm; NaN where there is no tensor, or no values.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.tensors.reductions import l2_norms
    >>> l2_norms([torch.tensor([3.0, 4.0]), None])
    tensor([5., nan])
    >>> l2_norms([torch.full((4,), 60000.0, dtype=torch.float16)])
    tensor([120000.])
    """
    return _by_kind(tensors, _l2, ())


def l2_and_max(tensors: Sequence[torch.Tensor | None]) -> torch.Tensor:
    """Return L2 norms and largest magnitudes, ``(2, n)``; NaN where there is no tensor.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.tensors.reductions import l2_and_max
    >>> l2_and_max([torch.tensor([3.0, -4.0]), torch.tensor([1.0, torch.nan])])
    tensor([[5., nan],
            [4., nan]])
    """
    return _by_kind(tensors, _l2_and_max, (2,))


class Alike:
    """Both norms of the gradients of the same few parameters, step after step.

    What kind of tensor each of them is, is asked for once.

    Parameters
    ----------
    parameters
        Their gradients have their shapes.
    """

    def __init__(self, parameters: Sequence[torch.Tensor]) -> None:
        sizes = [each.numel() for each in parameters]
        small = sizes and min(sizes) > 0 and max(sizes) <= SMALL
        self._total = sum(sizes) if small and 4 * sum(sizes) <= CACHED else 0
        self._starts = _starts(sizes)

    def l2_and_max(self, gradients: Sequence[torch.Tensor | None]) -> torch.Tensor:
        """Return what `l2_and_max` does."""
        there = [each for each in gradients if type(each) is torch.Tensor]
        if self._total and len(there) == len(gradients):
            with contextlib.suppress(RuntimeError, TypeError):  # not of one device
                flat = flattened(there)
                plain = flat.is_cpu and flat.is_floating_point()
                if plain and flat.numel() == self._total:
                    return _by_starts(flat, self._starts)
        return l2_and_max(gradients)


def _by_kind(
    tensors: Sequence[torch.Tensor | None], reduce: Reduction, rows: tuple[int, ...]
) -> torch.Tensor:
    """Reduce tensors of one device and dtype together."""
    kinds: dict[tuple[torch.device, torch.dtype], list[int]] = {}
    dense: list[torch.Tensor] = []
    tensors = [None if each is None or each.is_meta else each for each in tensors]
    for index, tensor in enumerate(tensors):
        if tensor is not None:
            if type(tensor) is not torch.Tensor or tensor.layout is not torch.strided:
                tensor = _dense(tensor)
            kinds.setdefault((tensor.device, tensor.dtype), []).append(index)
            dense.append(tensor)
    if len(kinds) == 1 and len(dense) == len(tensors):
        return reduce(dense)
    places = [index for index, tensor in enumerate(tensors) if tensor is not None]
    found = dict(zip(places, dense, strict=True))
    parts = [(n, reduce([found[index] for index in n])) for n in kinds.values()]
    return _scattered(parts, (*rows, len(tensors)))


def _scattered(
    parts: Sequence[tuple[list[int], torch.Tensor]], shape: tuple[int, ...]
) -> torch.Tensor:
    """Put what was reduced by kind into one tensor.

    It lives on the device of the first part: a model spread over devices is gathered
    there, by copies that do not wait.
    """
    device = parts[0][1].device if parts else torch.device("cpu")
    result = torch.full(shape, torch.nan, device=device)
    for indices, part in parts:
        if device.type != "cuda":
            result[..., torch.tensor(indices, device="cpu")] = part.to(device)
            continue  # an index list would be copied to a GPU, waiting
        here = part.to(device, non_blocking=True)
        for index, value in zip(indices, here.unbind(-1), strict=True):
            result[..., index].copy_(value)
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


def _l2_and_max(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    sizes = [each.numel() for each in tensors]
    if 0 in sizes:
        tensors = [each if each.numel() else each.new_zeros(1) for each in tensors]
        sizes = [max(size, 1) for size in sizes]
    if tensors[0].is_complex():
        tensors = [each.abs() for each in tensors]
    if tensors[0].device.type != "cpu":
        both = foreach_l2(tensors) + foreach_max(tensors)
        return torch.stack([each.float() for each in both]).view(2, -1)
    kinds: dict[bool, list[int]] = {}
    for index, size in enumerate(sizes):
        kinds.setdefault(size <= SMALL, []).append(index)
    parts = []
    for small, indices in kinds.items():
        reduce = _joined if small else _one_by_one
        runs = _runs([sizes[n] for n in indices], CACHED // tensors[0].element_size())
        pieces = [reduce([tensors[n] for n in indices[run]]) for run in runs]
        parts.append((indices, pieces[0] if len(pieces) == 1 else torch.cat(pieces, 1)))
    return parts[0][1] if len(parts) == 1 else _scattered(parts, (2, len(tensors)))


def _joined(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Reduce tensors end to end: this stays in a cache, so copying pays."""
    return _by_starts(flattened(tensors), _starts([each.numel() for each in tensors]))


def _by_starts(flat: torch.Tensor, starts: NDArray[np.int64]) -> torch.Tensor:
    values = as_array(flat.to(_wide(flat)))
    with np.errstate(all="ignore"):
        low, high = (
            np.minimum.reduceat(values, starts),
            np.maximum.reduceat(values, starts),
        )
        top = np.maximum(high, -low)
        usual = (top == 0) | ((top > 1 / SQUARED) & (top < SQUARED))
        wide = None if usual.all() else np.float64
        squares = np.multiply(values, values, dtype=wide)
        l2 = np.sqrt(np.add.reduceat(squares, starts, dtype=np.float64))
        return torch.from_numpy(np.stack((l2, top)).astype(np.float32))


def _starts(sizes: Sequence[int]) -> NDArray[np.int64]:
    """Return where parts of these sizes begin, one after the other."""
    return np.cumsum([0, *sizes[:-1]])


def _wide(tensor: torch.Tensor) -> torch.dtype:
    return torch.float64 if tensor.dtype is torch.float64 else torch.float32


def _one_by_one(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    norms = foreach_l2(tensors)
    # The infinity norm is not vectorised on the CPU: 20 times slower than this.
    ends = [torch.aminmax(each) for each in tensors]
    low = torch.stack([each.min for each in ends]).abs_()
    top = torch.maximum(low, torch.stack([each.max for each in ends]).abs_())
    return torch.stack((torch.stack(norms).float(), top.float()))


def _runs(sizes: Sequence[int], most: int) -> Iterator[slice]:
    """Divide a sequence into runs of about ``most`` elements."""
    start, total = 0, 0
    for index, size in enumerate(sizes):
        total += size
        if total >= most or index == len(sizes) - 1:
            yield slice(start, index + 1)
            start, total = index + 1, 0
