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
    found = list(_own(module)) or list(module.named_parameters())
    return tuple(_values(module, name, each) for name, each in found[:TENSORS])


def _own(module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    yield from module.named_parameters(recurse=False)
    for name, buffer in module.named_buffers(recurse=False):
        if buffer.is_floating_point():
            yield name, buffer


@torch.no_grad()
def _values(module: torch.nn.Module, name: str, tensor: Any) -> TensorValues:
    shape = tuple(int(n) for n in tensor.shape)
    made = TensorValues(printable(name), shape, dtype_name(tensor.dtype))
    missing, read, read_as = _readable(module, name, tensor)
    if read is None:
        return TensorValues(made.name, shape, made.dtype, missing=missing)
    whole = tuple(int(n) for n in read.shape)
    return TensorValues(made.name, whole, made.dtype, read_as, **_statistics(read))


def _readable(
    module: torch.nn.Module, name: str, tensor: Any
) -> tuple[str, torch.Tensor | None, str]:
    """Return why it cannot be read, or what is read and how."""
    if tensor.is_meta:
        hooked = vars(module).get("_hf_hook") is not None
        there = "offloaded by accelerate" if hooked else "on the meta device"
        return f"it has no values here: it is {there}", None, ""
    if weights_of(tensor) > MOST or not tensor.numel():
        return f"{weights_of(tensor):,} elements are not read", None, ""
    if type(tensor).__name__ in ("Params4bit", "Int8Params"):
        owner, _, _ = name.rpartition(".")
        read = whole_weight(module.get_submodule(owner))
        if read is None or is_packed_weight(tensor):
            return "it is packed in a way that is not read here", None, ""
        return "", read, f"dequantised to {dtype_name(read.dtype)}"
    if hasattr(tensor, "to_local"):
        return "", tensor.to_local(), "this rank's part"
    plain = type(tensor.data) is torch.Tensor and not tensor.is_quantized
    if not plain or tensor.is_complex():
        return f"{type(tensor.data).__name__} is not read here", None, ""
    return "", tensor.detach(), ""


def _statistics(tensor: torch.Tensor) -> dict[str, Any]:
    """Pass over it twice, in float32: moments and range, then the histogram."""
    flat = tensor.reshape(-1)
    count = zeros = bad = 0
    total = square = 0.0
    low, high = math.inf, -math.inf
    for each in _chunks(flat):
        fine = each[each.isfinite()]
        bad += each.numel() - fine.numel()
        zeros += int((fine == 0).sum())
        if fine.numel():
            count += fine.numel()
            total += float(fine.sum(dtype=torch.float64))
            square += float(fine.double().square().sum())
            low, high = min(low, float(fine.min())), max(high, float(fine.max()))
    if not count:
        return {"non_finite": bad}
    mean = total / count
    counts = torch.zeros(BINS, dtype=torch.float64)
    for each in _chunks(flat):
        fine = each[each.isfinite()]
        counts += torch.histc(fine, BINS, low, high).cpu()
    return {
        "mean": mean,
        "std": math.sqrt(max(square / count - mean**2, 0.0)),
        "low": low,
        "high": high,
        "zeros": zeros / flat.numel(),
        "non_finite": bad,
        "edges": (low, high),
        "counts": tuple(int(n) for n in counts),
    }


def _chunks(flat: torch.Tensor) -> Iterator[torch.Tensor]:
    for start in range(0, flat.numel(), CHUNK):
        yield flat[start : start + CHUNK].float()
