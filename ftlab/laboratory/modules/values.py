"""What is in a module's tensors: statistics and histograms, on demand."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from ftlab.laboratory.modules.storage import weights_of
from ftlab.probes.plain import dtype_name
from ftlab.probes.quantisation.four_bit import is_packed_weight
from ftlab.probes.tensors.whole_weight import whole_weight
from ftlab.records.model_anatomy import TensorValues
from ftlab.records.printable import printable

BINS = 41
CHUNK = 2**22
"""Elements that are read at a time, in float32: 16 MiB."""

MOST = 2**28
"""Elements of a tensor that is read; a larger one takes many seconds on one core."""

TENSORS = 12
"""Tensors of a module that are read at most."""


def values_of(model: torch.nn.Module, path: str) -> tuple[TensorValues, ...]:
    """Measure the tensors of the module at a path, without changing any.

    Its own parameters and floating-point buffers, or where it has none the parameters
    that are below it.
    """
    module = model.get_submodule(path)
    buffers = module.named_buffers(recurse=False)
    found: list[tuple[str, Any]] = [*module.named_parameters(recurse=False)]
    found += [(name, each) for name, each in buffers if each.is_floating_point()]
    found = found or list(module.named_parameters())
    return tuple(_values(module, *each) for each in found[:TENSORS])


@torch.no_grad()
def _values(module: torch.nn.Module, name: str, tensor: Any) -> TensorValues:
    read, said = _readable(module, name, tensor)
    kind, shown = dtype_name(tensor.dtype), printable(name)
    if read is None:
        return TensorValues(shown, tuple(tensor.shape), kind, missing=said)
    return TensorValues(shown, tuple(read.shape), kind, said, **_statistics(read))


def _readable(
    module: torch.nn.Module, name: str, tensor: Any
) -> tuple[torch.Tensor | None, str]:
    """Return what is read and how, or why it cannot be."""
    if tensor.is_meta:
        hooked = vars(module).get("_hf_hook") is not None
        there = "offloaded by accelerate" if hooked else "on the meta device"
        return None, f"it has no values here: it is {there}"
    if weights_of(tensor) > MOST or not tensor.numel():
        return None, f"{weights_of(tensor):,} elements are not read"
    if type(tensor).__name__ in ("Params4bit", "Int8Params"):
        read = whole_weight(module.get_submodule(name.rpartition(".")[0]))
        if read is None or is_packed_weight(tensor):
            return None, "it is packed in a way that is not read here"
        return read, f"dequantised to {dtype_name(read.dtype)}"
    if hasattr(tensor, "to_local"):
        return tensor.to_local(), "this rank's part"
    if type(tensor.data) is not torch.Tensor or tensor.is_complex():
        return None, f"{type(tensor.data).__name__} is not read here"
    return tensor.detach(), ""


def _statistics(tensor: torch.Tensor) -> dict[str, Any]:
    flat = tensor.reshape(-1)
    count = zeros = 0
    total = square = 0.0
    low, high = math.inf, -math.inf
    for fine in filter(torch.Tensor.numel, _finite(flat)):
        count += fine.numel()
        zeros += int((fine == 0).sum())
        total += float(fine.sum(dtype=torch.float64))
        square += float(fine.double().square().sum())
        low, high = min(low, float(fine.min())), max(high, float(fine.max()))
    if not count:
        return {"non_finite": flat.numel()}
    counts = sum(torch.histc(e, BINS, low, high).cpu().double() for e in _finite(flat))
    return {
        "mean": total / count,
        "std": math.sqrt(max(square / count - (total / count) ** 2, 0.0)),
        "low": low,
        "high": high,
        "zeros": zeros / flat.numel(),
        "non_finite": flat.numel() - count,
        "counts": tuple(int(n) for n in counts),  # type: ignore[union-attr]
    }


def _finite(flat: torch.Tensor) -> Iterator[torch.Tensor]:
    for start in range(0, flat.numel(), CHUNK):
        chunk = flat[start : start + CHUNK].float()
        yield chunk[chunk.isfinite()]
