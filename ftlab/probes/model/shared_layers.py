"""Modules that a model calls by several names, of which PEFT replaced the first."""

from collections import defaultdict
from typing import Any

import torch

from ftlab.probes.adapter.adapter_tree import adapted_layers, holders
from ftlab.probes.naming import clean_name


def half_wrapped(model: torch.nn.Module) -> dict[str, list[str]]:
    """Find modules with an adapter by one of their names, and without by another.

    ``named_modules`` lists a module once, so PEFT replaces it where it is first. Only
    names that the configuration asks for as well count, below the model that it speaks
    of.

    Returns
    -------
    dict
        Path of the layer with the adapter -> the other paths, which run without.
    """
    found = holders(model)
    layers = {
        id(layer.module.get_base_layer()): layer for layer in adapted_layers(model)
    }
    if not found or not layers:
        return {}
    root, prefix = found[-1].root, found[-1].root_path
    configs = list(found[-1].configs.values())
    others: dict[str, list[str]] = defaultdict(list)
    for path, module in root.named_modules(remove_duplicate=False):
        layer = layers.get(id(module))
        name = clean_name(path)
        if layer is None or layer.parameter or "base_layer" in name.split("."):
            continue
        if any(_asks_for(config, name) for config in configs):
            others[layer.name].append(f"{prefix}.{name}" if prefix else name)
    return dict(others)


def _asks_for(config: Any, name: str) -> bool:
    from peft.tuners.tuners_utils import check_target_module_exists

    return bool(check_target_module_exists(config, name))
