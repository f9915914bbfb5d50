"""Settings of adapter layers that multiply what the adapter adds by 0.

Each PEFT method names its dropouts by itself: modules for the input, plain numbers for
ranks or for whole layers. What is read is the layers, not the configuration: a layer
may have been changed since it was made.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import torch

from ftlab.probes.adapter.adapter_tree import Layer, bounded
from ftlab.records.attributes import attribute_of


def switched_off(layers: Iterable[Layer], adapter: str) -> dict[str, Any]:
    """Name the layers whose dropout is 1 or whose scaling is 0, by setting.

    Parameters
    ----------
    layers
        Those that hold the adapter.

    Returns
    -------
    dict
        Such as ``{"module_dropout": {"count": 4, "names": [...]}}``.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for layer in layers:
        for setting, container in _settings(layer.module):
            value = _value(container, adapter)
            if value is not None and value == (0.0 if setting == "scaling" else 1.0):
                found[setting].append(layer.name)
    return {setting: bounded(names) for setting, names in found.items()}


def _settings(module: torch.nn.Module) -> list[tuple[str, Any]]:
    own = vars(module) | dict(module.named_children())
    return [
        (name, container)
        for name, container in own.items()
        if name.endswith("dropout") or name == "scaling"
    ]


def _value(container: Any, adapter: str) -> float | None:
    """Return an adapter's number out of a mapping, or of the Dropout in it."""
    if not isinstance(container, Mapping | torch.nn.ModuleDict):
        return None
    entry = dict(container.items()).get(adapter)
    if isinstance(entry, torch.nn.Module):
        entry = attribute_of(entry, "p")
    return float(entry) if isinstance(entry, int | float) else None
