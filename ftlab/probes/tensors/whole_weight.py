"""A layer's weight as one matrix, put together where it is kept in few bits."""

from typing import Any

import torch

from ftlab.records.attributes import attribute_of

INT8 = 127.0


def whole_weight(module: torch.nn.Module) -> torch.Tensor | None:
    """Return a layer's weight; ``None`` where there is none, or it is elsewhere."""
    weight: Any = dict(module.named_parameters(recurse=False)).get("weight")
    if weight is None or weight.is_meta:
        return None
    kind = type(weight).__name__
    if kind == "Params4bit":
        return _of_four_bits(weight)
    if kind == "Int8Params":
        return _of_eight_bits(module, weight)
    return weight.detach() if weight.is_floating_point() else None


def _of_four_bits(weight: Any) -> torch.Tensor | None:
    from bitsandbytes.functional import dequantize_4bit

    state = getattr(weight, "quant_state", None)
    return None if state is None else dequantize_4bit(weight.data, state).detach()


def _of_eight_bits(module: Any, weight: Any) -> torch.Tensor | None:
    scale = getattr(weight, "SCB", None)
    if scale is None:
        scale = getattr(attribute_of(module, "state"), "SCB", None)
    if scale is None or weight.dtype != torch.int8:
        return None
    unit = scale.detach().float().to(weight.device)[:, None] / INT8
    return weight.data.float() * unit
