"""What is on disk right after a save, against the model that was saved."""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch

from ftlab.probes.files.adapter_folder import (
    CONFIG,
    OUTDATED,
    WEIGHTS,
    AdapterFolder,
    adapter_folder,
)
from ftlab.probes.files.saved_keys import (
    adapter_configs,
    adapter_keys,
    learns_prompts,
    saves_adapters,
)
from ftlab.probes.files.saving_facts import wrapper_names
from ftlab.probes.naming import named_trainables, roles_of
from ftlab.probes.taps.forward import innermost

SHOWN = 64
"""At most so many names of one kind are kept; how many there are is told besides."""

_PEFT_INSIDE = re.compile(r"\.(base_layer|original_module|modules_to_save|lora_\w+)\.")
"""Names that PEFT puts into the keys of a model that it was put on."""

LARGE = 1 << 26
"""Tensors with more elements are not read: an adapter's own are smaller."""


def check_saved(
    model: torch.nn.Module, folder: Path, selected: Sequence[str] | None = None
) -> dict[str, Any]:
    """Read back what was saved.

    Parameters
    ----------
    selected
        Adapters that were saved; all of them by default.

    Returns
    -------
    dict
        ``kind`` (``"adapter"``, ``"model"``, or ``"unread"`` for a pickle or a file
        that was moved already, and nothing else), ``keys``, ``renamed`` (how many hold
        a wrapper's name); for models ``inside`` (how many keys hold PEFT's names for
        what it has put into the model) with an ``example`` and ``beside`` (whether an
        adapter's configuration lies in the same folder); for adapters their names
        (``adapters``), ``below`` (those that are in folders of their name),
        ``unsaved`` (trainable parameters of the model, those of other adapters left
        out, that are in no file, and ``unsaved_count``; absent for prompts), ``b``,
        ``zero_b`` and ``live_zero_b`` (how many B there are, are 0 in the file, and
        are 0 in the model), ``broken`` (keys whose values are not finite) and
        ``shapeless`` (keys without elements); ``outdated`` where what was read is an
        older file beside the one that was saved.
    """
    model = innermost(model)
    found: dict[str, Any]
    configs = list(selected or adapter_configs(model))
    folders = {name: _folder_of(folder, name) for name in configs}
    read = all((each.path / WEIGHTS).is_file() for each in folders.values())
    if not read or not saves_adapters(model):
        folders = {}
    if not folders:
        # A base keeps its adapters' configurations and is saved whole all the same.
        keys = _model_keys(folder)
        if configs and not keys:
            return {"kind": "unread"}
        found = {"kind": "model", "renamed": _renamed(model, keys)} | _inside(keys)
        beside = bool(keys) and (folder / CONFIG).is_file()
        return found | ({"beside": True} if beside else {})
    keys = [key for each in folders.values() for key in each.keys]
    found = {"kind": "adapter", "adapters": list(folders)}
    found |= {"keys": len(keys), "renamed": _renamed(model, keys)}
    below = [name for name, each in folders.items() if each.path != folder]
    found |= {"below": below} if below else {}
    if any(OUTDATED in each.problems for each in folders.values()):
        found["outdated"] = True
    return found | _values(model, folders) | _unsaved(model, folders)


def _folder_of(folder: Path, adapter: str) -> AdapterFolder:
    """PEFT puts every adapter but "default" into a folder of its name."""
    below = folder / adapter
    return adapter_folder(below if (below / WEIGHTS).exists() else folder)


def _model_keys(folder: Path) -> list[str]:
    index, whole = folder / "model.safetensors.index.json", folder / "model.safetensors"
    if index.is_file():
        return list(json.loads(index.read_text("utf-8")).get("weight_map", ()))
    if not whole.is_file():
        return []
    from safetensors import safe_open

    with safe_open(whole, framework="pt") as file:
        return list(file.keys())


def _inside(keys: Sequence[str]) -> dict[str, Any]:
    """Count the keys of a whole model under which PEFT keeps its own parts."""
    inside = [key for key in keys if _PEFT_INSIDE.search(key)]
    found: dict[str, Any] = {"keys": len(keys)}
    return found | ({"inside": len(inside), "example": inside[0]} if inside else {})


def _renamed(model: torch.nn.Module, keys: Iterable[str]) -> int:
    marks = {name.rpartition(".")[2] for name in wrapper_names(model)}
    return sum(bool(marks.intersection(key.split("."))) for key in keys)


def _values(
    model: torch.nn.Module, folders: dict[str, AdapterFolder]
) -> dict[str, Any]:
    b = zero_b = live_zero_b = 0
    broken, shapeless = [], []
    for adapter, folder in folders.items():
        live = adapter_keys(model, adapter)
        for key, tensor in folder.tensors():
            if tensor.numel() == 0:
                shapeless.append(key)
            elif tensor.numel() <= LARGE and not bool(torch.isfinite(tensor).all()):
                broken.append(key)
            if ".lora_B." in key:
                b += 1
                zero_b += not bool((tensor != 0).any())
                mine = live.get(key)
                live_zero_b += mine is None or not bool((mine != 0).any())
    counts = {"b": b, "zero_b": zero_b, "live_zero_b": live_zero_b}
    return counts | {"broken": broken[:SHOWN], "shapeless": shapeless[:SHOWN]}


def _unsaved(
    model: torch.nn.Module, folders: dict[str, AdapterFolder]
) -> dict[str, Any]:
    if any(learns_prompts(adapter_configs(model)[name]) for name in folders):
        return {}  # what is written is what its encoder computes
    written: set[int] = set()
    for adapter, folder in folders.items():
        live, named = adapter_keys(model, adapter), dict(model.named_parameters())
        found = (live.get(key, named.get(key)) for key in folder.keys)
        written |= {id(tensor) for tensor in found if tensor is not None}
    roles, known = roles_of(model), {"", *folders}
    left = [
        entry.name
        for entry in named_trainables(model)
        if id(entry.parameter) not in written
        and getattr(roles.get(id(entry.parameter)), "adapter", "") in known
    ]
    return {"unsaved": left[:SHOWN], "unsaved_count": len(left)}
