"""What a Trainer's checkpoint of a model would hold, and how large it would be."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import torch

from ftlab.laboratory.carriers import Carrier
from ftlab.laboratory.modules.storage import bytes_of
from ftlab.laboratory.modules.wrapping import is_peft, pretrained
from ftlab.probes.adapter.adapter_tree import holders
from ftlab.probes.files.saved_keys import adapter_keys
from ftlab.records.attributes import attribute_of

Way = Literal["adapters", "whole", "state dict", "empty", "renamed", "sharded"]

UNWRAPPED = {"OptimizedModule": "_orig_mod", "DistributedDataParallel": "module"}
UNWRAPPED |= {"DataParallel": "module", "FullyShardedDataParallel": "module"}
"""What ``accelerator.unwrap_model`` takes off, and where the model is in it."""


@dataclass(frozen=True, slots=True)
class Saving:
    """How a model would be saved.

    ``"adapters"`` and ``"whole"`` are written by ``save_pretrained``, ``"state dict"``
    is all of it without a configuration, ``"empty"`` and ``"renamed"`` come of the
    ``save_pretrained`` of ``inner``, within wrappers that put ``prefix`` before its
    keys, and what is ``"sharded"`` cannot be written. ``adapters`` and ``whole`` are
    bytes, ``shared`` are names of one tensor, ``holder`` is the path of the PeftModel.
    """

    way: Way
    inner: Any
    prefix: str
    adapters: int
    whole: int
    shared: tuple[str, ...]
    holder: str


def saving_of(model: torch.nn.Module, carried: Iterable[Carrier]) -> Saving:
    """Tell how a Trainer would save a model, as in `Trainer._save`."""
    inner, prefix = _unwrapped(model)
    names: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    held = holders(model)
    return Saving(
        _way(model, inner, prefix),
        inner,
        prefix,
        _adapter_bytes(held[0], carried) if held else 0,
        sum(map(bytes_of, _persistent(model).values())),
        next((tuple(each) for each in names.values() if len(each) > 1), ()),
        held[0].path if held else "",
    )


def _unwrapped(model: Any) -> tuple[Any, str]:
    prefix = ""
    while (name := UNWRAPPED.get(type(model).__name__)) is not None:
        # FSDP takes its own name out of its state dict
        sharded = type(model).__name__ == "FullyShardedDataParallel"
        prefix += "" if sharded else f"{name}."
        model = getattr(model, name)
    return model, prefix


def _way(outer: Any, inner: Any, prefix: str) -> Way:
    loaded = attribute_of(inner, "is_distributed_loading_by_transformers", False)
    if not loaded and any(hasattr(each, "to_local") for each in inner.parameters()):
        return "sharded"
    if not pretrained(inner) and not is_peft(inner):
        return "state dict"
    adapters = is_peft(inner) or attribute_of(inner, "_hf_peft_config_loaded") is True
    if outer is not inner and prefix:
        return "empty" if adapters else "renamed"
    return "adapters" if adapters else "whole"


def _adapter_bytes(held: Any, carried: Iterable[Carrier]) -> int:
    try:
        keys = [adapter_keys(held.module, name).values() for name in held.configs]
    except Exception:  # noqa: BLE001  PEFT cannot say what it would save
        keys = [ps for each in carried for ps in each.adapters.values()]  # type: ignore[misc]
    return sum({id(each): bytes_of(each) for some in keys for each in some}.values())


def _persistent(model: torch.nn.Module) -> dict[int, torch.Tensor]:
    """Return what a state dict holds, each tensor once."""
    found: dict[int, torch.Tensor] = {id(p): p for p in model.parameters()}
    for module in model.modules():
        left_out = module._non_persistent_buffers_set  # noqa: SLF001  torch has no other
        for name, buffer in module.named_buffers(recurse=False):
            if name not in left_out:
                found[id(buffer)] = buffer
    return found
