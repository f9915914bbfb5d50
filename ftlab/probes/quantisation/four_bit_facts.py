"""Facts of a quantised model: what is in 4 bits, how, and what was asked for."""

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from ftlab.probes.naming import clean_name
from ftlab.probes.plain import dtype_name, jsonable
from ftlab.probes.quantisation.foreign_scales import foreign_scales
from ftlab.probes.quantisation.four_bit import (
    can_be_packed,
    four_bit_layers,
    is_four_bit,
    is_mixed_up,
    is_packed,
    is_packed_weight,
)
from ftlab.records.attributes import attribute_of

MANY = 512
"""Layers of one kind that are listed at most."""


def four_bit_facts(model: torch.nn.Module) -> dict[str, Any]:
    """Read what 4-bit weights there are; empty for a model without quantisation.

    Returns
    -------
    dict
        ``layers`` (count), ``types``, ``compute_dtypes``, ``blocksizes``, ``nested``
        (how many of each), ``packed``, ``mixed_up`` and ``packable`` (paths),
        ``asked`` (the quantisation's configuration), ``unquantised`` (elements of
        weights of the blocks that stayed in floating point, by path), ``elements``
        (of those in 4 bits) and ``scales`` (see `foreign_scales`).
    """
    layers = list(four_bit_layers(model))
    asked = _asked(model)
    if not layers and not asked:
        return {}
    weights = [attribute_of(module, "weight") for _, module in layers]
    states = [getattr(weight, "quant_state", None) for weight in weights]
    return {
        "layers": len(layers),
        "types": _count(getattr(state, "quant_type", "") for state in states),
        "compute_dtypes": _count(_compute_dtype(module) for _, module in layers),
        "blocksizes": _count(getattr(state, "blocksize", 0) for state in states),
        "nested": _count(bool(getattr(state, "nested", False)) for state in states),
        "packed": [path for path, module in layers if is_packed(module)][:MANY],
        "mixed_up": [path for path, module in layers if is_mixed_up(module)][:MANY],
        "packable": [path for path, module in layers if can_be_packed(module)][:MANY],
        "names": [path for path, _ in layers][:MANY],
        "asked": asked,
        "elements": sum(_elements(module) for _, module in layers),
        "scales": _scales(layers),
        "unquantised": dict(list(_floating(model))[:MANY]),
    }


def packing_signature(parameters: Iterable[torch.Tensor]) -> bool:
    """Tell whether the first 4-bit weight is packed: evaluation packs all of them."""
    first = next((each for each in parameters if is_four_bit(each)), None)
    return is_packed_weight(first)


def _scales(layers: Sequence[tuple[str, torch.nn.Module]]) -> dict[str, Any]:
    """Compare scales with codes; nothing where bitsandbytes keeps them otherwise."""
    with contextlib.suppress(Exception):
        found = foreign_scales(layers)
        return found | {"written": found["written"][:MANY]} if found else {}
    return {}


def _asked(model: Any) -> dict[str, Any]:
    """Read the configuration of 4-bit quantisation, where there is one."""
    config = getattr(attribute_of(model, "config"), "quantization_config", None)
    if config is None:
        return {}
    asked = config if isinstance(config, dict) else config.to_dict()
    wanted = bool(asked.get("load_in_4bit") or asked.get("_load_in_4bit"))
    return dict(jsonable(asked)) if wanted else {}


def _floating(model: torch.nn.Module) -> Iterator[tuple[str, int]]:
    """Yield frozen matrices of numbered blocks that are not quantised, as elements."""
    for name, parameter in model.named_parameters():
        clean = clean_name(name)
        parts = clean.split(".")
        within = any(part.isdigit() for part in parts)
        added = any(part.startswith(("lora_", "modules_to_save")) for part in parts)
        matrix = parameter.dim() > 1 and parameter.dtype.is_floating_point
        if within and matrix and not added:
            yield clean, parameter.numel()


def _elements(module: Any) -> int:
    weight = attribute_of(module, "weight")
    shape = getattr(getattr(weight, "quant_state", None), "shape", None)
    return int((weight if shape is None else shape).numel())


def _compute_dtype(module: Any) -> str:
    dtype = attribute_of(module, "compute_dtype")
    return "" if dtype is None else dtype_name(dtype)


def _count(values: Iterator[Any]) -> dict[str, int]:
    return {str(value): count for value, count in Counter(values).items()}
