"""4-bit weights whose bytes were written anew, and whose scales are of other weights.

A 4-bit weight is a code for each value, relative to its block's largest magnitude, and
that magnitude, the block's scale. The two tell of each other: a block with an outlier
has a large scale and small codes. How steeply scales fall with the codes' size in these
very weights is seen within the blocks, half against half, where no scale takes part.
Between blocks the same slope must come out; with scales of other weights it is 0.
"""

import sys
from collections.abc import Iterable
from typing import Any

import torch

from ftlab.probes.quantisation.four_bit import is_four_bit
from ftlab.probes.torch_private import versions
from ftlab.records.attributes import attribute_of

MANY = 64
"""Layers that are looked at, evenly among those that were written to."""

VALUES = 2**20
"""Values of a layer that are looked at, from its first row on."""

EMPTY = 0.5
"""Share of zeros above which a layer is left out: pruned weights follow no slope."""

SMALLEST = 0.02
"""What a mean of codes counts as at least: they may all be 0."""


def foreign_scales(
    layers: Iterable[tuple[str, torch.nn.Module]],
) -> dict[str, Any]:
    """Compare scales with codes in the 4-bit weights that were written in place.

    Nothing is read where none was: quantising a weight makes its bytes and scales
    together, and so does loading it through transformers.

    Returns
    -------
    dict
        Nothing without such weights. Else ``written``, their names; ``blocks`` that
        were looked at; ``slope`` of scales over codes between blocks, in logarithms;
        its ``error``, one deviation; and ``own``, the slope within blocks.
    """
    weights = [(path, attribute_of(module, "weight")) for path, module in layers]
    written = [(path, weight) for path, weight in weights if _writes(weight)]
    some = written[:: max(1, len(written) // MANY)][:MANY]
    read = [found for _, weight in some if (found := _logarithms(weight))]
    if not read:
        return {}
    codes, scales, inner_codes, inner_scales = map(torch.cat, zip(*read, strict=True))
    slope, error = _slope(codes, scales)
    own, _ = _slope(inner_codes, inner_scales)
    return {
        "written": [path for path, _ in written],
        "blocks": len(codes),
        "slope": slope,
        "error": error,
        "own": own,
    }


def writes(parameters: Iterable[torch.Tensor]) -> int:
    """Count the writes to the first 4-bit weight: a load writes to all of them."""
    if "bitsandbytes.nn.modules" not in sys.modules:
        return 0
    first = next((each for each in parameters if is_four_bit(each)), None)
    return 0 if first is None else _writes(first)


def _writes(weight: Any) -> int:
    if not isinstance(weight, torch.Tensor) or weight.is_inference():
        return 0
    return sum(each[1] for each in versions([weight]) if each is not None)


def _logarithms(weight: Any) -> tuple[torch.Tensor, ...]:
    """Return codes and scales by block, then the same between halves of blocks."""
    state = getattr(weight, "quant_state", None)
    packed = getattr(state, "packing_format_for_cpu", False)
    if state is None or packed or weight.is_meta:
        return ()
    scales, codes = _scales(state), _codes(weight, state)
    shard = scales.numel() * state.blocksize != 2 * weight.view(torch.uint8).numel()
    if shard or float((codes == 0).float().mean()) > EMPTY:
        return ()
    whole = codes.square().mean(1).sqrt()
    halves = codes.view(len(codes), 2, -1)
    means = halves.square().mean(2).sqrt().clamp_min(SMALLEST)
    tops = halves.amax(2).clamp_min(SMALLEST)
    columns = state.shape[-1]
    across = columns // state.blocksize if columns % state.blocksize == 0 else 1
    return (
        _centred(whole.clamp_min(SMALLEST).log(), across),
        _centred(scales[: len(codes)].clamp_min(1e-30).log(), across),
        _difference((means / tops).log()),
        _difference(tops.log()),
    )


def _codes(weight: torch.Tensor, state: Any) -> torch.Tensor:
    """Return magnitudes relative to the scale, one row for each block."""
    rows = max(1, VALUES // int(state.shape[-1]))
    values = rows * int(state.shape[-1]) // state.blocksize * state.blocksize
    packed = weight.detach().view(torch.uint8).flatten()[: values // 2].int()
    table = state.code.float().abs()
    both = torch.stack([table[packed >> 4], table[packed & 15]], dim=-1)
    return both.view(-1, state.blocksize)


def _scales(state: Any) -> torch.Tensor:
    """Return the scales, which double quantisation keeps in 8 bits themselves."""
    if not state.nested:
        return state.absmax.float().flatten()
    from bitsandbytes.functional import dequantize_blockwise

    return (dequantize_blockwise(state.absmax, state.state2) + state.offset).flatten()


def _centred(values: torch.Tensor, across: int) -> torch.Tensor:
    """Take off what rows and columns of blocks have in common."""
    if len(values) % across:
        across = 1
    table = values.view(-1, across)
    table = table - table.mean(0, keepdim=True)
    return (table - table.mean(1, keepdim=True) if across > 1 else table).flatten()


def _difference(pairs: torch.Tensor) -> torch.Tensor:
    return pairs[:, 0] - pairs[:, 1]


def _slope(x: torch.Tensor, y: torch.Tensor) -> tuple[float, float]:
    """Return the slope of ``y`` over ``x`` and its standard error."""
    x, y = x.double() - x.double().mean(), y.double() - y.double().mean()
    square = float(x @ x)
    if not square:
        return 0.0, float("inf")
    slope = float(x @ y) / square
    rest = y - slope * x
    return slope, (float(rest @ rest) / max(1, len(x) - 2) / square) ** 0.5
