"""Modules that are kept as a copy for each adapter (modules_to_save), and are off."""

from collections import defaultdict
from collections.abc import Iterable

import torch

from ftlab.probes.naming import clean_name
from ftlab.records.attributes import attribute_of


def idle_copies(model: torch.nn.Module) -> dict[str, list[str]]:
    """Name by adapter the kept modules that have a copy of it and do not run it.

    They run another copy, or the base model's own. Those that were disabled as a whole
    are left out: all of the adapter is off then.

    Examples
    --------
    >>> from ftlab.faults.builders.tiny import lora
    >>> from ftlab.probes.adapter_config.kept_modules import idle_copies
    >>> model = lora(modules_to_save=["lm_head"])
    >>> idle_copies(model)
    {}
    >>> model.add_adapter("other", model.peft_config["default"])
    >>> idle_copies(model)
    {'other': ['base_model.model.lm_head']}
    """
    found: dict[str, list[str]] = defaultdict(list)
    for path, module in model.named_modules():
        if attribute_of(module, "disable_adapters", False):
            continue
        copies = _copies(module)
        active = attribute_of(module, "active_adapters") if copies else None
        if isinstance(active, list | tuple):
            for adapter in copies:
                if adapter not in active:
                    found[clean_name(adapter)].append(clean_name(path))
    return dict(found)


def _copies(module: torch.nn.Module) -> Iterable[str]:
    copies = dict(module.named_children()).get("modules_to_save")
    return list(copies) if isinstance(copies, torch.nn.ModuleDict) else ()
