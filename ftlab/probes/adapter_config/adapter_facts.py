"""Facts of how PEFT was put on a model; see `ftlab.records.facts.Facts.model`.

`adapter_tree` finds where it is, `adapter_targets` compares it with what was asked for,
`adapter_parts` with what is trainable, `unadapted` with the rest of the model, and
`task_heads` looks at heads; here they are put together, and kept small: a list of names
is counted, and cut at a bound.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch

from ftlab.probes.adapter.adapter_tree import (
    Holder,
    Layer,
    adapted_layers,
    bounded,
    holders,
    method_of,
    pattern_of,
    plain_modules,
)
from ftlab.probes.adapter_config.adapter_parts import (
    adapter_parts,
    outside_facts,
    part_facts,
)
from ftlab.probes.adapter_config.adapter_switches import switched_off
from ftlab.probes.adapter_config.adapter_targets import (
    asked,
    leftovers,
    unheeded_exclusions,
)
from ftlab.probes.adapter_config.beyond_numbers import beyond_numbers
from ftlab.probes.adapter_config.block_indices import misread_indices
from ftlab.probes.adapter_config.combined import combinations
from ftlab.probes.adapter_config.cut_entries import cut_entries
from ftlab.probes.adapter_config.idle_settings import idle_settings
from ftlab.probes.adapter_config.kept_modules import idle_copies
from ftlab.probes.adapter_config.mode_dropouts import configured_dropouts
from ftlab.probes.adapter_config.quantised_layers import quantised_layers
from ftlab.probes.adapter_config.rescaled_sides import rescaled_sides
from ftlab.probes.adapter_config.task_heads import frozen_heads
from ftlab.probes.adapter_config.unadapted import block_weights
from ftlab.probes.naming import NamedParameter
from ftlab.probes.plain import jsonable, readable
from ftlab.probes.tokens.invocations import invocation_facts


def adapter_facts(model: torch.nn.Module) -> dict[str, Any]:
    """Describe how adapters were put on ``model``; empty without any.

    Returns
    -------
    dict
        ``chain`` (the places that carry configurations, outermost first), ``adapters``
        (by name: type, layers by pattern, what was asked for, parts), ``blocks``
        (linear-like weights and their share), ``quantised`` (layers on both sides of
        quantisation, where there is some), ``heads`` (frozen task heads), ``outside``
        (what is trainable besides adapters) and ``idle_copies`` (modules of
        modules_to_save that do not run an adapter's copy, by adapter).
    """
    found = holders(model)
    if not found:
        return {}
    layers = list(adapted_layers(model))
    inner = found[-1]
    parts = adapter_parts(model, found)
    return readable(
        chain=lambda: [
            {"path": h.path, "class": h.kind, "adapters": sorted(h.configs)}
            for h in found
        ],
        adapters=lambda: {
            name: _adapter(name, found, layers, parts.get(name, {}))
            for name in dict.fromkeys(name for h in found for name in h.configs)
        },
        blocks=lambda: block_weights(inner.root, inner.root_path),
        quantised=lambda: quantised_layers(inner.root, inner.root_path),
        heads=lambda: frozen_heads(inner.root, inner.root_path),
        outside=lambda: outside_facts(model, parts),
        combinations=lambda: combinations(model),
        idle_copies=lambda: {
            name: bounded(paths) for name, paths in idle_copies(model).items()
        },
    )


def configurations(model: torch.nn.Module) -> dict[str, Any]:
    """Give each adapter's configuration, of the outermost place that has it."""
    found: dict[str, Any] = {}
    for holder in holders(model):
        for name, config in holder.configs.items():
            plain = config if isinstance(config, dict) else config.to_dict()
            found.setdefault(name, jsonable(plain))
    return found


def _adapter(
    name: str,
    found: Sequence[Holder],
    layers: Sequence[Layer],
    parts: dict[str, list[NamedParameter]],
) -> dict[str, Any]:
    holder = next(h for h in found if name in h.configs)
    config = holder.configs[name]
    mine = [layer for layer in layers if name in layer.adapters]
    inner = found[-1]
    names = [key for key, _ in plain_modules(inner.root)]
    patterns = Counter(pattern_of(_path(layer, inner.root_path)) for layer in mine)
    return readable(
        type=lambda: method_of(config),
        layers=lambda: len(mine),
        patterns=lambda: dict(patterns),
        asked=lambda: asked(config, names, mine, inner.root_path),
        leftover=lambda: leftovers(config, name, mine, inner.root_path),
        unheeded=lambda: unheeded_exclusions(config, mine, inner.root_path),
        cut=lambda: cut_entries(config, mine, inner.root, inner.root_path),
        beyond=lambda: beyond_numbers(config, mine, inner.root_path),
        misread=lambda: misread_indices(config, mine, inner.root, inner.root_path),
        parts=lambda: {part: part_facts(entries) for part, entries in parts.items()},
        rescaled=lambda: rescaled_sides(config, mine, inner.root),
        switched_off=lambda: switched_off(mine, name),
        dropouts=lambda: configured_dropouts(
            config, name, mine, [c for n, c in holder.configs.items() if n != name]
        ),
        invocation=lambda: invocation_facts(config, holder.module),
        idle=lambda: idle_settings(config, name, mine, inner.root),
        init=lambda: jsonable(getattr(config, "init_lora_weights", None)),
    )


def _path(layer: Layer, prefix: str) -> str:
    name = layer.name.removeprefix(f"{prefix}.") if prefix else layer.name
    return f"{name}.{layer.parameter}" if layer.parameter else name
