"""Settings of a PEFT configuration that were made and change nothing.

PEFT takes one class of configuration for several methods, and some of its fields speak
only beside another one. What is not used is kept, and nothing is raised; so the layers
are looked at.
"""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from ftlab.probes.adapter.adapter_tree import Layer, method_of
from ftlab.probes.adapter_config.unadapted import is_linear
from ftlab.probes.plain import jsonable
from ftlab.records.attributes import attribute_of

STARTS = {"eva_config": "eva", "corda_config": "corda", "lora_ga_config": "lora_ga"}
"""Settings of a start, and the value of init_lora_weights that takes them."""

UNKNOWN_TO_ADALORA = ("r", "use_rslora", "alpha_pattern", "lora_bias")
"""Fields of LoRA that AdaLoRA's layers never read."""

Idle = dict[str, dict[str, Any]]


def idle_settings(
    config: Any, adapter: str, layers: Sequence[Layer], root: torch.nn.Module
) -> Idle:
    """Find the settings of one adapter that have no effect.

    Returns
    -------
    dict
        Field -> ``why`` it has none, its ``value``, and what is ``used`` in its place,
        as far as there is anything.
    """
    found: Idle = {}
    for field, why, used in (
        *_starts(config),
        *_of_another_method(config, adapter, layers),
        *_variants(config, adapter, layers),
        *_biases(config, layers, root),
        *_tokens(config),
        *_ranks(config, adapter, layers),
    ):
        value = jsonable(getattr(config, field, None))
        found.setdefault(field, {"why": why, "value": str(value), "used": str(used)})
    return found


_Found = Iterator[tuple[str, str, Any]]


def _starts(config: Any) -> _Found:
    init = getattr(config, "init_lora_weights", None)
    for field, wanted in STARTS.items():
        if getattr(config, field, None) is not None and init != wanted:
            yield field, "other-start", init


def _of_another_method(config: Any, adapter: str, layers: Sequence[Layer]) -> _Found:
    if method_of(config) != "ADALORA":
        return
    defaults = {field.name: field.default for field in dataclasses.fields(config)}
    ranks = sorted({int(layer.module.r.get(adapter, 0)) for layer in layers})
    for field in UNKNOWN_TO_ADALORA:
        value = getattr(config, field, None)
        if value and value != defaults.get(field):
            yield field, "other-method", ranks if field == "r" else "nothing"
    if isinstance(config.init_lora_weights, str):
        yield "init_lora_weights", "other-method", "AdaLoRA's own start"


def _variants(config: Any, adapter: str, layers: Sequence[Layer]) -> _Found:
    if not dataclasses.is_dataclass(config):
        return
    held = [attribute_of(layer.module, "lora_variant") for layer in layers]
    known = [each for each in held if isinstance(each, dict)]
    if not known or any(adapter in each for each in known):
        return
    marked = [f.name for f in dataclasses.fields(config) if _is_variant(f)]
    for field in (*marked, "use_qalora"):
        if getattr(config, field, None):
            yield field, "no-variant", "plain layers"


def _is_variant(field: "dataclasses.Field[Any]") -> bool:
    return bool(field.metadata.get("is_lora_variant"))


def _biases(config: Any, layers: Sequence[Layer], root: torch.nn.Module) -> _Found:
    mode = str(getattr(config, "bias", "none"))
    if mode == "none" or not layers:
        return
    if mode == "all":
        names = (name for name, _ in root.named_parameters())
        there = any(name.rpartition(".")[2] == "bias" for name in names)
    else:
        bases = [layer.module.get_base_layer() for layer in layers]
        there = any(attribute_of(base, "bias") is not None for base in bases)
    if not there:
        yield "bias", "no-bias", "none"


def _tokens(config: Any) -> _Found:
    asked = getattr(config, "trainable_token_indices", None)
    lists = list(asked.values()) if isinstance(asked, dict) else [asked or ()]
    repeated = [i for each in lists for i, n in Counter(each).items() if n > 1]
    if repeated:
        yield "trainable_token_indices", "repeated", repeated


def _ranks(config: Any, adapter: str, layers: Sequence[Layer]) -> _Found:
    if method_of(config) != "LORA" or not layers:
        return
    sizes = []
    for layer in layers:
        base, ranks = layer.module.get_base_layer(), attribute_of(layer.module, "r", {})
        if layer.parameter or not is_linear(base) or adapter not in ranks:
            return
        sizes.append(min(layer.module.in_features, layer.module.out_features))
        if ranks[adapter] <= sizes[-1]:
            return
    yield "r", "above-size", max(sizes)
