"""Facts of an adapter's folder against the model that it was loaded into."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from ftlab.probes.adapter.lora_pairs import lora_pairs
from ftlab.probes.files.adapter_file_start import start_off
from ftlab.probes.files.adapter_folder import WEIGHTS, AdapterFolder, adapter_folder
from ftlab.probes.files.adapter_keys import why_unread
from ftlab.probes.files.saved_keys import adapter_configs, adapter_keys
from ftlab.probes.naming import clean_name, named_parameters
from ftlab.probes.plain import jsonable
from ftlab.probes.subject import Subject
from ftlab.probes.taps.forward import innermost
from ftlab.records.attributes import attribute_of, has_attribute

SAME = 1e-2
"""Relative distance up to which a tensor is the file's: bfloat16 rounds by less."""

COMPARED = (
    "peft_type",
    "r",
    "lora_alpha",
    "use_rslora",
    "use_dora",
    "target_modules",
    "modules_to_save",
    "task_type",
    "bias",
    "rank_pattern",
    "alpha_pattern",
)
"""Settings that have to be as they were where the adapter was saved."""


def adapter_file_facts(subject: Subject) -> dict[str, Any]:
    """Compare the folder that an adapter was loaded from with the model.

    Returns
    -------
    dict
        ``folder``, ``problems`` and ``keys`` as in `AdapterFolder`; ``checkpoint``
        (whether a Trainer wrote it, to be resumed from); ``unread`` (keys of
        the file that the model does not have), ``reason`` (why, see `why_unread`),
        ``absent`` (parameters of the adapter that the file does not have),
        ``different`` (parameters that are not as in the file), ``misshapen`` (those of
        them that have another shape), ``zero_b`` and ``b``
        (how many B of the file are 0, of how many), ``live_zero_b`` (parameters that
        are 0 and not so in the file), ``broken`` (keys whose values are not finite),
        ``config`` (settings that differ: file's and model's), ``scaling`` (modules
        whose factor differs: file's and model's), ``adapter`` (the one of the model's
        that this holds for: the one that has the file's values; else the active one),
        ``start`` (settings of its start that differ, see `start_off`), ``for_use``
        (whether its configuration says inference_mode, as PEFT has it when a folder is
        loaded for use).
    """
    if subject.adapter_dir is None:
        return {}
    folder = adapter_folder(subject.adapter_dir)
    model = innermost(subject.model)
    facts: dict[str, Any] = {
        "folder": str(folder.path),
        "problems": list(folder.problems),
        "keys": len(folder.keys),
        "checkpoint": _is_checkpoint(subject.adapter_dir),
    }
    configs = adapter_configs(model)
    live = {name: adapter_keys(model, name) for name in configs}
    if not live:
        return facts | {"adapter": ""}
    adapter, values = _holder(folder, model, live)
    facts |= {"adapter": adapter, "absent": []}
    if folder.keys:
        facts |= _keys_facts(folder, model, live[adapter]) | values
        if values["b"] and values["zero_b"] == values["b"]:
            facts["below"] = _taught_below(folder)
    if folder.config:
        facts |= _config_facts(folder.config, model, adapter, configs[adapter])
        facts["start"] = start_off(folder.config, configs[adapter])
        facts["for_use"] = bool(getattr(configs[adapter], "inference_mode", False))
    return facts


def _is_checkpoint(folder: Path) -> bool:
    """Tell a Trainer's checkpoint; an adapter may stand in a folder below it."""
    state = "trainer_state.json"
    return (folder / state).is_file() or (folder.parent / state).is_file()


def _holder(
    folder: AdapterFolder,
    model: torch.nn.Module,
    live: Mapping[str, Mapping[str, torch.Tensor]],
) -> tuple[str, dict[str, Any]]:
    """Find the adapter that the file was loaded into, and compare its values.

    All adapters of a model often have the same keys; then the values decide, and among
    those that have them, or where none has, the one that is active.
    """
    known, active = set(folder.keys), active_adapters(model)
    shared = {name: len(known.intersection(keys)) for name, keys in live.items()}
    alike = [name for name in live if shared[name] == max(shared.values())]
    values = {name: _values_facts(folder, model, live[name]) for name in alike}

    def rank(name: str) -> tuple[bool, bool]:
        return bool(values[name]["different"]), name not in active

    adapter = min(alike, key=rank)
    return adapter, values[adapter]


def _taught_below(folder: AdapterFolder) -> list[str]:
    """PEFT puts adapters that are not called "default" into folders of their names."""
    inside = sorted(each.parent for each in folder.path.glob(f"*/{WEIGHTS}"))
    return [
        path.name
        for path in inside
        if any(
            ".lora_B." in key and bool((tensor != 0).any())
            for key, tensor in adapter_folder(path).tensors()
        )
    ]


def active_adapters(model: Any) -> list[str]:
    """List the adapters that a model says are active; transformers has a method."""
    try:
        active = attribute_of(model, "active_adapters", ())
        return [str(each) for each in (active() if callable(active) else active)]
    except (ValueError, AttributeError, ImportError):
        return []


def _keys_facts(
    folder: AdapterFolder, model: torch.nn.Module, live: Mapping[str, torch.Tensor]
) -> dict[str, Any]:
    # Saved embeddings are weights of the base, by their own name.
    own = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    unread = [key for key in folder.keys if key not in live and key not in own]
    names = _names(model)
    absent = [names.get(id(live[k]), k) for k in live if k not in set(folder.keys)]
    reason, count = why_unread(unread, live)
    return {"unread": unread, "reason": reason, "alike": count, "absent": absent}


def _values_facts(
    folder: AdapterFolder, model: torch.nn.Module, live: Mapping[str, torch.Tensor]
) -> dict[str, Any]:
    names = _names(model)
    kinds = ("different", "misshapen", "live_zero_b", "broken")
    found: dict[str, list[str]] = {kind: [] for kind in kinds}
    b, zero_b = 0, 0
    for key, tensor in folder.tensors():
        values = tensor.double()
        is_b = ".lora_B." in key or ".lora_embedding_B" in key
        zero = not bool((values != 0).any())
        b, zero_b = b + is_b, zero_b + (is_b and zero)
        if not bool(torch.isfinite(values).all()):
            found["broken"].append(key)
        elif key in live:
            name = names.get(id(live[key]), key)
            mine = live[key].detach().double().cpu()
            if is_b and not zero and not bool((mine != 0).any()):
                found["live_zero_b"].append(name)
            if values.shape != mine.shape:
                found["misshapen"].append(name)
            if not _is_same(values, mine):
                found["different"].append(name)
    return {**found, "b": b, "zero_b": zero_b}


def _is_same(file: torch.Tensor, live: torch.Tensor) -> bool:
    if file.shape != live.shape:
        return False
    return bool((file - live).norm() <= SAME * file.norm())


def _names(model: torch.nn.Module) -> dict[int, str]:
    return {id(entry.parameter): entry.name for entry in named_parameters(model)}


def _config_facts(
    saved: Mapping[str, Any], model: torch.nn.Module, adapter: str, config: Any
) -> dict[str, Any]:
    live = jsonable(config.to_dict())
    differing = {
        name: [jsonable(saved[name]), live.get(name)]
        for name in COMPARED
        if name in saved and _plain(saved[name]) != _plain(live.get(name))
    }
    base = {
        "saved_base": saved.get("base_model_name_or_path") or "",
        "live_base": _name_of_base(model),
        "saved_class": (saved.get("auto_mapping") or {}).get("base_model_class", ""),
        "live_class": _class_of_base(model),
    }
    return {"config": differing, "scaling": factors_off(saved, model, adapter), **base}


def _plain(value: Any) -> Any:
    """Take what means the same as the same: sets and lists, none and nothing."""
    value = jsonable(value)
    if isinstance(value, list):
        value = sorted(value, key=str)
    return value if value not in ([], {}, "", False) else None


def factors_off(
    saved: Mapping[str, Any], model: torch.nn.Module, adapter: str
) -> dict[str, list[float]]:
    """Return modules whose factor is another one than the file's settings give."""
    alpha, root = saved.get("lora_alpha"), bool(saved.get("use_rslora"))
    if alpha is None or saved.get("rank_pattern") or saved.get("alpha_pattern"):
        return {}
    found = {}
    for pair in lora_pairs(model):
        if pair.adapter == adapter:
            rank = saved.get("r") or pair.parameters[0].shape[0]
            due = alpha / (math.sqrt(rank) if root else rank)
            if not math.isclose(due, pair.scaling, rel_tol=1e-3):
                found[clean_name(pair.module)] = [due, pair.scaling]
    return found


def _base(model: Any) -> Any:
    return model.get_base_model() if has_attribute(model, "get_base_model") else model


def _name_of_base(model: Any) -> str:
    base = _base(model)
    name = attribute_of(base, "name_or_path")
    return str(name or getattr(attribute_of(base, "config"), "_name_or_path", "") or "")


def _class_of_base(model: Any) -> str:
    return type(_base(model)).__name__
