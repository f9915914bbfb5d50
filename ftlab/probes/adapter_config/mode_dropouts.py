"""The dropouts of an adapter's layers against those of its configuration.

A layer gets its dropout when it is made, and never looks at the configuration again.
Where that says 0, the layer has none at all, so that none can be switched on later.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from ftlab.probes.adapter.adapter_tree import Layer
from ftlab.probes.modes.mode_parts import DROPOUTS
from ftlab.records.attributes import attribute_of


def configured_dropouts(
    config: Any, adapter: str, layers: Sequence[Layer], others: Iterable[Any] = ()
) -> dict[str, dict[str, Any]]:
    """Compare each setting that layers keep as modules by adapter.

    Parameters
    ----------
    others
        The configurations of other adapters: one object may serve several.

    Returns
    -------
    dict
        Setting -> ``asked``, the chance that the configuration holds; ``used``, how
        many layers drop with which chance, as text, ``"none"`` where there is no
        dropout; whether the configuration is ``shared``.
    """
    shared = any(each is config for each in others)
    found: dict[str, dict[str, Any]] = {}
    for setting, asked in vars(config).items():
        if not setting.endswith("dropout") or not isinstance(asked, int | float):
            continue
        made = (_made(attribute_of(each.module, setting), adapter) for each in layers)
        used = Counter(each for each in made if each)
        if used:
            entry = {"asked": float(asked), "used": dict(used), "shared": shared}
            found[setting] = entry
    return found


def _made(container: Any, adapter: str) -> str:
    """Write what a layer drops with; ``""`` where it is not kept as a module."""
    if not isinstance(container, Mapping | torch.nn.ModuleDict):
        return ""
    module = dict(container.items()).get(adapter)
    if isinstance(module, DROPOUTS):
        return str(float(module.p))
    return "none" if isinstance(module, torch.nn.Identity) else ""
