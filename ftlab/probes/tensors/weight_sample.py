"""A few elements of a weight, quantised ones included, to see whether it changes."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.tensors.host import as_array
from ftlab.probes.torch_private import has_values

SAMPLE = 256
"""Elements of a weight that are looked at."""

GLANCE = 16
"""Elements of a weight that are looked at between two such looks."""

_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}

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


def host_sample(weight: torch.Tensor) -> NDArray[Any] | None:
    """Take a few elements of a weight on the CPU, as its bits; else ``None``."""
    data = weight.data
    if not data.is_cpu or data.element_size() not in _BITS:
        return None
    bits = as_array(data.view(_BITS[data.element_size()]))
    return np.array(strided(bits.reshape(-1), GLANCE))


def strided(flat: Any, count: int) -> Any:
    """Take at most ``count`` elements, spread over rows and columns alike.

    The distance is odd: a power of two would hit the same columns in every row.
    """
    distance = -(-flat.shape[0] // count) | 1
    return flat[::distance][:count]
