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

UNWRAPPED = {
    "OptimizedModule": "_orig_mod",
    "DistributedDataParallel": "module",
    "DataParallel": "module",
    "FullyShardedDataParallel": "module",
    "DeepSpeedEngine": "module",
}
"""What ``accelerator.unwrap_model`` takes off, and where the model is in it."""


@dataclass(frozen=True, slots=True)
class Saving:
    """How a model would be saved.

    Attributes
    ----------
    way
        ``"adapters"`` and ``"whole"``: by ``save_pretrained``; ``"state dict"``: all of
        it, with neither configuration; ``"empty"`` and ``"renamed"``: by the
        ``save_pretrained`` of what is within a wrapper whose name is in the keys;
        ``"sharded"``: not at all.
    around
        The outermost object without compilation's, DDP's and FSDP's.
    adapters, whole
        Bytes of the adapters alone, and of everything.
    shared
        Names of one tensor.
    holder
        Path of what holds the adapters.
    """

    way: Way
    around: Any
    adapters: int
    whole: int
    shared: tuple[str, ...]
    holder: str
    prefix: str


def saving_of(model: torch.nn.Module, carried: Iterable[Carrier]) -> Saving:
    """Tell how a Trainer would save a model, as in `Trainer._save`."""
    inner, prefix = unwrapped(model)
    held = holders(model)
    found = 0
    if held:
        try:
            found = _adapter_bytes(held[0].module, held[0].configs)
        except Exception:  # noqa: BLE001  PEFT cannot say what it would save
            parameters = (p for c in carried for ps in c.adapters.values() for p in ps)
            found = sum({id(p): bytes_of(p) for p in parameters}.values())
    # what the Trainer takes off again in torch.compile stays on for the loss
    around = model if type(model).__name__ == "OptimizedModule" else inner
    return Saving(
        _way(model, inner, prefix),
        around,
        found,
        sum(map(bytes_of, _persistent(model).values())),
        _shared(model),
        held[0].path if held else "",
        prefix,
    )


def unwrapped(model: Any) -> tuple[Any, str]:
    """Take off what accelerate takes off; return what it puts before the keys too."""
    prefix = ""
    while (name := UNWRAPPED.get(type(model).__name__)) is not None:
        # FSDP takes its own name out of its state dict
        sharded = type(model).__name__ == "FullyShardedDataParallel"
        prefix += "" if sharded else f"{name}."
        model = getattr(model, name)
    return model, prefix


def _way(outer: Any, inner: Any, prefix: str) -> Way:
    whole = attribute_of(inner, "is_distributed_loading_by_transformers", False)
    if not whole and any(hasattr(each, "to_local") for each in inner.parameters()):
        return "sharded"
    known = pretrained(inner) or is_peft(inner)
    if not known:
        return "state dict"
    loaded = attribute_of(inner, "_hf_peft_config_loaded", False) is True
    adapters = is_peft(inner) or loaded
    if outer is not inner and prefix:
        return "empty" if adapters else "renamed"
    return "adapters" if adapters else "whole"


def _adapter_bytes(model: Any, names: Iterable[str]) -> int:
    kept = {
        id(tensor): bytes_of(tensor)
        for name in names
        for tensor in adapter_keys(model, name).values()
    }
    return sum(kept.values())


def _persistent(model: torch.nn.Module) -> dict[int, torch.Tensor]:
    """Return what a state dict holds, each tensor once."""
    found: dict[int, torch.Tensor] = {id(p): p for p in model.parameters()}
    for module in model.modules():
        left_out = module._non_persistent_buffers_set  # noqa: SLF001  torch has no other
        for name, buffer in module.named_buffers(recurse=False):
            if name not in left_out:
                found[id(buffer)] = buffer
    return found


def _shared(model: torch.nn.Module) -> tuple[str, ...]:
    """Return names of the first tensor that has several."""
    names: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    return next((tuple(each) for each in names.values() if len(each) > 1), ())


def trained_bytes(model: torch.nn.Module) -> int:
    """Return the bytes of what has a gradient."""
    return sum(bytes_of(each) for each in model.parameters() if each.requires_grad)
