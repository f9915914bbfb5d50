"""The norm of a frozen base weight, 4-bit and 8-bit ones included.

Quantised weights are never put together as a whole: their squares are summed chunk by
chunk. What cannot be read (offloaded weights, formats that are not known here) gives
``None``.
"""

from collections.abc import Callable
from typing import Any

import torch

from ftlab.records.attributes import attribute_of, has_attribute

CHUNK = 1 << 22
"""Elements of a quantised weight that are expanded at a time."""

Table = Callable[[torch.Tensor], torch.Tensor]
"""What each code value counts as."""

_FLOATS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


def base_weight(layer: torch.nn.Module) -> torch.Tensor | None:
    """Return the weight that an adapter was put on, quantised or not."""
    weight = attribute_of(layer, "weight")
    if not isinstance(weight, torch.Tensor) or weight.is_meta or weight.numel() == 0:
        return None
    return weight


def base_norm(layer: torch.nn.Module) -> torch.Tensor | None:
    """Frobenius norm of a layer's weight: a 0-dim float32 tensor on its device.

    The kind of the weight is told by its class name, so that bitsandbytes is not
    imported for those who do not use it.
    """
    weight = base_weight(layer)
    if weight is None:
        return None
    kind = type(weight).__name__
    if kind == "Params4bit":
        return _norm_4bit(weight)
    if kind == "Int8Params":
        return _norm_8bit(layer, weight)
    if weight.dtype in _FLOATS and type(weight.data) is torch.Tensor:
        return float32_norm(weight.detach())
    return None


def float32_norm(tensor: torch.Tensor) -> torch.Tensor:
    """Sum squares in float32, or in float64 where the tensor is; return float32."""
    wider = None if tensor.dtype == torch.float64 else torch.float32
    return torch.linalg.vector_norm(tensor, dtype=wider).float()


def is_quantized(layer: torch.nn.Module) -> bool:
    """Tell whether a layer keeps its weight in other than floating point."""
    weight = attribute_of(layer, "weight")
    if not isinstance(weight, torch.Tensor):
        return any(has_attribute(layer, name) for name in ("qweight", "W_q"))
    return not weight.dtype.is_floating_point or hasattr(weight, "quant_state")


def base_error(layer: torch.nn.Module) -> torch.Tensor | None:
    """Share that quantisation to 4 bits has taken from a weight, as is expected.

    A weight between two code values is as likely anywhere between them, so that each
    code has a mean squared error; the original is not needed. The largest weight of
    each block, which is exact, counts neither as error nor as size: where it is an
    outlier, the others are next to nothing beside it, and lost. ``None`` for a weight
    that is not in 4 bits.
    """
    weight: Any = base_weight(layer)
    if weight is None or type(weight).__name__ != "Params4bit":
        return None
    errors, squares = _norm_4bit(weight, _cell_errors), _norm_4bit(weight)
    if errors is None or squares is None:
        return None
    largest = _absmax(weight.quant_state).double().square().sum()
    last = _cell_errors(weight.quant_state.code.float()).double()
    of_largest = largest * last[weight.quant_state.code.abs() >= 1].mean()
    lost = (errors.double().square() - of_largest).clamp(min=0)
    rest = (squares.double().square() - largest).clamp(min=1e-30)
    return (lost / rest).sqrt().clamp(max=1).float()  # nothing is left at 1


def _cell_errors(code: torch.Tensor) -> torch.Tensor:
    """Mean squared distance to each code value of what is rounded to it."""
    values, order = code.sort()
    halves = values.diff() / 2
    nothing = halves.new_zeros(1)
    below, above = torch.cat((nothing, halves)), torch.cat((halves, nothing))
    width = (below + above).clamp(min=1e-12)
    errors = torch.zeros_like(code)
    errors[order] = (below**3 + above**3) / (3 * width)
    return errors


def _norm_4bit(weight: Any, table: Table = torch.square) -> torch.Tensor | None:
    """Sum a table's value of each code x absmax^2 over blocks of packed nibbles."""
    state = getattr(weight, "quant_state", None)
    packed = weight.data.detach().reshape(-1).view(torch.uint8)
    if state is None or packed.numel() * 2 != state.shape.numel():
        return None  # not quantised yet, or repacked by a CPU kernel
    half = state.blocksize // 2
    squares = table(state.code.to(torch.float32))
    pairs = (squares[:, None] + squares[None, :]).reshape(-1)
    absmax = _absmax(state)
    total = torch.zeros((), dtype=torch.float64, device=packed.device)
    step = max(1, CHUNK // state.blocksize)
    for start in range(0, absmax.numel(), step):
        scale = absmax[start : start + step]
        nibbles = packed[start * half : (start + scale.numel()) * half]
        sums = torch.nn.functional.pad(
            pairs.index_select(0, nibbles.int()),
            (0, scale.numel() * half - nibbles.numel()),
        )
        total += (sums.view(-1, half).sum(1) * scale.square()).sum()
    return total.sqrt().float()


def _absmax(state: Any) -> torch.Tensor:
    """Scale of each block, itself dequantised where it is quantised."""
    if not getattr(state, "nested", False):
        whole: torch.Tensor = state.absmax.detach().float().reshape(-1)
        return whole
    from bitsandbytes.functional import dequantize_blockwise

    scale: torch.Tensor = dequantize_blockwise(state.absmax, state.state2)
    return (scale + state.offset).detach().float().reshape(-1)


def _norm_8bit(layer: Any, weight: Any) -> torch.Tensor | None:
    """Sum the squares of int8 x row scale / 127 over chunks of rows."""
    scale = getattr(weight, "SCB", None)
    if scale is None:
        scale = getattr(attribute_of(layer, "state"), "SCB", None)
    rows = weight.data.detach()
    if rows.dtype != torch.int8 or scale is None or scale.numel() != rows.shape[0]:
        return None
    total = torch.zeros((), dtype=torch.float64, device=rows.device)
    step = max(1, CHUNK // rows.shape[1])
    for start in range(0, rows.shape[0], step):
        part = rows[start : start + step].float().square().sum(1)
        unit = scale[start : start + step].to(rows.device).float() / 127
        total += (part * unit.square()).sum()
    return total.sqrt().float()
