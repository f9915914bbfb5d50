"""A few elements of a weight, quantised ones included, to see whether it changes."""

from collections.abc import Hashable
from typing import Any

import torch

from ftlab.probes.torch_private import has_values

SAMPLE = 256
"""Elements of a weight that are looked at."""

_FLOATS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


def sample_key(weight: torch.Tensor) -> Hashable | None:
    """Return what must be equal for two samples of one weight to be comparable.

    ``None`` where a weight cannot be sampled: offloaded, sharded, empty, or of a kind
    that is not known here.
    """
    if not (has_values(weight) and weight.numel() and weight.is_contiguous()):
        return None
    state = getattr(weight, "quant_state", None)
    plain = type(weight) in (torch.Tensor, torch.nn.Parameter)
    if state is None and not (plain and weight.dtype in _FLOATS):
        return None
    packed = bool(getattr(state, "packing_format_for_cpu", False))
    return (weight.dtype, weight.device, tuple(weight.shape), packed)


def sample_of(weight: torch.Tensor) -> torch.Tensor:
    """Take up to `SAMPLE` elements, the same ones each time; a copy in float32.

    Of a 4-bit weight the packed bytes are taken, and the scales of its blocks:
    ``state_dict()`` of such a layer is never called.
    """
    state: Any = getattr(weight, "quant_state", None)
    flat = strided(weight.detach().data.view(-1), SAMPLE)
    if state is None:
        return flat.to(torch.float32, copy=True)
    scales = strided(state.absmax.detach().reshape(-1), SAMPLE // 4)
    return torch.cat([flat.float(), scales.float()])


def strided(flat: torch.Tensor, count: int) -> torch.Tensor:
    """Take at most ``count`` elements, spread over rows and columns alike.

    The distance is odd: a power of two would hit the same columns in every row.
    """
    distance = -(-flat.numel() // count) | 1
    return flat[::distance][:count]
