"""What the adapters of a model are and do, layer by layer."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ftlab.executions.listening import shared_name
from ftlab.laboratory.carriers import Carrier, carriers
from ftlab.laboratory.effects import Effects, effects
from ftlab.laboratory.spectra import spectrum
from ftlab.probes.adapter.adapter_tree import holders, method_of
from ftlab.probes.adapter.intruders import intruders, spread_over
from ftlab.probes.adapter.lora_pairs import LoraPair, lora_pairs, pairs_of_layer
from ftlab.probes.plain import dtype_name
from ftlab.probes.tensors.base_norm import base_norm
from ftlab.records.adapter_anatomy import AdaptedLayer, AdapterAnatomy
from ftlab.records.places import place_of

SETTINGS = (
    ("r", "r"),
    ("rank", "r"),
    ("lora_alpha", "alpha"),
    ("alpha", "alpha"),
    ("use_rslora", "rsLoRA"),
    ("use_dora", "DoRA"),
    ("num_virtual_tokens", "virtual tokens"),
    ("adapter_len", "prompt length"),
)


def anatomy(
    model: torch.nn.Module,
    batch: Mapping[str, Any] | None = None,
    directions: int = 0,
) -> AdapterAnatomy:
    """Measure all adapters of a model; its effects only with a batch.

    In so many layers as ``directions`` says, intruders are counted.

    One layer is looked at at a time, and neither B A nor a weight is put together but
    the base's own, for its norm.
    """
    carried = list(carriers(model))
    found = Effects()
    if batch is not None and carried:
        found = effects(model, batch, carried)
    pairs = [pair for pair in lora_pairs(model) if not pair.reason]
    strange = {
        (id(pair.layer), pair.adapter): intruders(pair)
        for pair in spread_over(pairs, directions)
        if directions
    }
    configs = {n: c for each in holders(model) for n, c in each.configs.items()}
    layers = [
        layer
        for each in carried
        for layer in _layers(each, model, configs, found, strange)
    ]
    settings = {name: _settings(config) for name, config in configs.items()}
    return AdapterAnatomy(
        tuple(layers),
        _by_structure(carried) | settings,
        _shared(carried),
        found.moved,
        found.turned,
        (*found.notes, *_starts(configs)),
        found.gates,
    )


def _by_structure(carried: Iterable[Carrier]) -> dict[str, str]:
    """Say of adapters without a configuration what they are."""
    words = {"BOTTLENECK": "bottleneck", "ADAPTERFUSION": "AdapterFusion"}
    return {name: words[kind] for c in carried for name, kind in c.methods.items()}


def _starts(configs: Mapping[str, Any]) -> Iterator[str]:
    """Say where an adapter's start has taken a part of the base for itself."""
    for name, config in configs.items():
        start = str(getattr(config, "init_lora_weights", "")).lower()
        if start.startswith(("pissa", "olora", "corda", "loftq")):
            yield (
                f"{name} started as {start}: without it the base is what that left of "
                "the pretrained weights, and effects are measured from there"
            )


def _layers(
    carrier: Carrier,
    model: torch.nn.Module,
    configs: Mapping[str, Any],
    found: Effects,
    strange: Mapping[tuple[int, str], int | None],
) -> Iterable[AdaptedLayer]:
    pairs = {each.adapter: each for each in pairs_of_layer(carrier.module, "")}
    prompt = carrier.name.endswith("prompt_encoder") and carrier.inner is None
    path = found.behind.get(carrier.name, carrier.name)
    place = place_of(path, _siblings(model, path))
    effect = found.layers.get(carrier.name, _NONE)
    for adapter, parameters in carrier.adapters.items():
        state = carrier.state(adapter)
        yield AdaptedLayer(
            carrier.name,
            "prompt" if prompt else place,
            adapter,
            _method(configs, carrier, adapter),
            sum(each.numel() for each in parameters),
            sum(each.numel() for each in parameters if each.requires_grad),
            ", ".join(sorted({dtype_name(each.dtype) for each in parameters})),
            _norm(parameters),
            state,
            effect if state == "active" else _NONE,
            **_lora(pairs.get(adapter)),
            intruders=_or_none(strange.get((id(carrier.module), adapter))),
        )


_NONE = float("nan")


def _or_none(count: int | None) -> int:
    return -1 if count is None else count


def _lora(pair: LoraPair | None) -> dict[str, Any]:
    if pair is None or pair.a is None or pair.b is None:
        return {}
    scaling = pair.scaling
    values = spectrum(pair.a, pair.b, scaling).values.numpy()
    return {
        "rank": int(pair.layer.r.get(pair.adapter, len(values))),
        "scaling": scaling,
        "singular_values": values,
        "weight": _weight(pair.base),
    }


def _weight(base: torch.nn.Module) -> float:
    with torch.no_grad():
        norm = base_norm(base)
    return _NONE if norm is None else float(norm)


def _norm(parameters: Sequence[torch.nn.Parameter]) -> float:
    if any(each.is_meta for each in parameters):
        return _NONE
    norms = [torch.linalg.vector_norm(p.detach().float()) for p in parameters]
    return float(np.sqrt(sum(float(each) ** 2 for each in norms)))


def _method(configs: Mapping[str, Any], carrier: Carrier, adapter: str) -> str:
    if adapter in carrier.methods:
        return carrier.methods[adapter]
    if hasattr(carrier.module, "original_module"):
        return "saved whole"
    return method_of(configs.get(adapter)) or type(carrier.module).__name__


def _settings(config: Any) -> str:
    words = [method_of(config)]
    if hasattr(config, "target_r"):  # AdaLoRA has r too, and does not read it
        words.append(f"r {config.init_r} to {config.target_r}")
    for name, said in SETTINGS[1 if hasattr(config, "target_r") else 0 :]:
        value = getattr(config, name, None)
        if value and not callable(value):
            words.append(said if value is True else f"{said} {value}")
    return ", ".join(dict.fromkeys(words))


def _shared(carried: Iterable[Carrier]) -> dict[str, int]:
    found: dict[str, dict[int, int]] = {}
    for carrier in carried:
        for adapter, parameters in carrier.adapters.items():
            known = found.setdefault(adapter, {})
            known |= {id(p): p.numel() for p in parameters if p.requires_grad}
    return {adapter: sum(known.values()) for adapter, known in found.items()}


def _siblings(model: torch.nn.Module, name: str) -> frozenset[str]:
    if not name.endswith("post_attention_layernorm"):
        return frozenset()
    around = name.removesuffix("post_attention_layernorm")
    names = (shared_name(each) for each, _ in model.named_modules())
    within = (n.removeprefix(around) for n in names if n.startswith(around))
    return frozenset(n for n in within if "." not in n)
