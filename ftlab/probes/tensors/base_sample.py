"""A few numbers of each base weight, by which two runs tell whether they share a base.

A sum would do for equality and for nothing else. Single values can also be compared
between float32 and bfloat16, and between a weight and its 4-bit version, of which they
are within the rounding.
"""

from typing import Any

import torch

from ftlab.probes.adapter.lora_pairs import LoraPair, lora_pairs
from ftlab.probes.naming import clean_name
from ftlab.probes.plain import dtype_name
from ftlab.probes.tensors.base_norm import base_weight

WEIGHTS = 48
"""At most so many weights are sampled, spread evenly over the model."""

VALUES = 16
"""Values of each weight, at even distances."""


def base_sample(model: torch.nn.Module) -> dict[str, Any]:
    """Sample the weights that LoRA adapters were put on.

    Returns
    -------
    dict
        By name of the weight its ``dtype``, ``shape`` and ``values``. Weights with an
        adapter merged into them are left out, as are those that cannot be read:
        quantised, offloaded, sharded ones.
    """
    layers: dict[str, LoraPair] = {}
    for pair in lora_pairs(model):
        layers.setdefault(pair.module, pair)
    found = {}
    for module in spread(list(layers), WEIGHTS):
        sample = _sample(layers[module])
        if sample is not None:
            found[f"{module}.base_layer.weight"] = sample
    return found


def base_changed(model: torch.nn.Module, sample: dict[str, Any]) -> bool:
    """Tell whether a weight has other values than `base_sample` found, adapter or not.

    So it has after somebody has added the adapter's share by hand.
    """
    weights = {
        clean_name(name).replace(".base_layer.", "."): parameter
        for name, parameter in model.named_parameters()
    }
    return any(
        (weight := weights.get(name.replace(".base_layer.", "."))) is not None
        and list(weight.shape) == known["shape"]
        and dtype_name(weight.dtype) == known["dtype"]
        and _values(weight) != known["values"]
        for name, known in sample.items()
    )


def spread(items: list[str], count: int) -> list[str]:
    """Choose at most ``count`` items at even distances, the first and last included.

    Examples
    --------
    >>> from ftlab.probes.tensors.base_sample import spread
    >>> spread(list("abcdefg"), 3)
    ['a', 'd', 'g']
    """
    if len(items) <= count:
        return items
    step = (len(items) - 1) / (count - 1)
    return [items[round(index * step)] for index in range(count)]


def _sample(pair: LoraPair) -> dict[str, Any] | None:
    weight = base_weight(pair.base)
    if weight is None or pair.layer.merged_adapters:
        return None
    if not weight.dtype.is_floating_point or type(weight.data) is not torch.Tensor:
        return None
    if hasattr(weight, "quant_state") or not weight.is_contiguous():
        return None
    return {
        "dtype": dtype_name(weight.dtype),
        "shape": list(weight.shape),
        "values": _values(weight),
    }


def _values(weight: torch.Tensor) -> list[float]:
    flat = weight.detach().reshape(-1)
    step = max(1, flat.numel() // VALUES)
    values: list[float] = flat[step // 2 :: step][:VALUES].float().cpu().tolist()
    return values
