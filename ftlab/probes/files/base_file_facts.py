"""Facts of the folder that a whole model was loaded from, against the model.

Keys that from_pretrained does not find are drawn at random, with a warning of many
lines. Looked at are folders on this machine, and of them the names alone; values are
read of one tensor, to see whether it was put in by other means.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from ftlab.probes.files.adapter_keys import twins_of
from ftlab.probes.naming import clean_name, named_parameters
from ftlab.probes.taps.forward import innermost
from ftlab.records.attributes import attribute_of, has_attribute

WHOLE, INDEX = "model.safetensors", "model.safetensors.index.json"

SHOWN = 64
"""At most so many names are kept; how many there are is told besides."""

_ROWS = 4
"""Rows of the one tensor whose values are compared."""

MATRIX = 2
"""Dimensions of what is compared."""

SAME = 1e-2
"""Relative distance up to which values are the file's: bfloat16 rounds by less."""


def base_file_facts(model: torch.nn.Module) -> dict[str, Any]:
    """Compare the names in a model's own folder with those of the model.

    Returns
    -------
    dict
        Nothing where all is well or unknown. Else ``folder``; ``keys``; ``lost``, how
        many parameters stand in the file under a name with a wrapper's or PEFT's parts
        in it, and have other values; ``example``, a key; ``names`` of the parameters.
    """
    owner: Any = innermost(model)
    base = owner.get_base_model() if has_attribute(owner, "get_base_model") else owner
    folder = _folder_of(base)
    files = _files(folder) if folder is not None else {}
    own = _own(base)
    missing = [name for name in own if name not in files]
    unread = [key for key in files if key not in own]
    if folder is None or not missing or not unread:
        return {}
    twins = twins_of(unread, missing)
    if not twins or not _differ(files, own, twins):
        return {}
    names = {id(e.parameter): e.name for e in named_parameters(owner)}
    return {
        "folder": folder.name,
        "keys": len(files),
        "lost": len(twins),
        "example": next(iter(twins)),
        "names": [names.get(id(own[n]), n) for n in list(twins.values())[:SHOWN]],
    }


def _folder_of(base: Any) -> Path | None:
    config = attribute_of(base, "config")
    name = attribute_of(base, "name_or_path") or getattr(config, "_name_or_path", "")
    path = Path(str(name)) if name else None
    return path if path is not None and path.is_dir() else None


def _files(folder: Path) -> dict[str, Path]:
    """Return for each key the file that holds it."""
    from safetensors import safe_open

    if (folder / INDEX).is_file():
        table = json.loads((folder / INDEX).read_text("utf-8")).get("weight_map", {})
        return {str(key): folder / str(file) for key, file in table.items()}
    if not (folder / WHOLE).is_file():
        return {}
    with safe_open(folder / WHOLE, framework="pt") as file:
        return dict.fromkeys(file.keys(), folder / WHOLE)


def _own(base: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return the base's parameters by the names that they had before PEFT came."""
    named = base.named_parameters(remove_duplicate=False)
    return {
        clean_name(name).replace(".base_layer.", "."): tensor
        for name, tensor in named
        if ".lora_" not in name and ".modules_to_save." not in name
    }


def _differ(
    files: Mapping[str, Path],
    own: Mapping[str, torch.Tensor],
    twins: Mapping[str, str],
) -> bool:
    """Tell whether the first tensor that can be compared is another one."""
    from safetensors import safe_open

    for key, name in twins.items():
        live = own[name].detach()
        # Norms and biases begin alike in each model, and rarely move far.
        if live.is_meta or not live.is_floating_point() or live.dim() < MATRIX:
            continue
        with safe_open(files[key], framework="pt") as file:
            part = file.get_slice(key)
            if list(part.get_shape()) != list(live.shape):
                continue
            wanted = part[:_ROWS].double()
        mine = live[:_ROWS].double().cpu()
        return bool((wanted - mine).norm() > SAME * wanted.norm())
    return False
