"""Facts about saving: what would be left out, renamed, or hidden by a wrapper."""

import re
import sys
from typing import Any

import torch

from ftlab.probes.files.saved_keys import (
    adapter_configs,
    adapter_keys,
    embeddings_saved,
    saved_parameters,
)
from ftlab.probes.naming import clean_name, named_trainables
from ftlab.probes.plain import readable
from ftlab.probes.taps.forward import innermost

_OF_AN_ADAPTER = re.compile(r"\.(lora_(embedding_)?[AB]|modules_to_save)\.")
"""Parts that PEFT saves in any case."""

_RENAMING = {
    "OptimizedModule": "_orig_mod",
    "DistributedDataParallel": "module",
    "DataParallel": "module",
}
"""Wrappers whose own name stays in the keys that are saved; FSDP's does not."""


def saving_facts(model: torch.nn.Module) -> dict[str, Any]:
    """Read what saving this model would write.

    Returns
    -------
    dict
        ``unsaved``: trainable parameters that are not written. ``undecided``: those of
        which it depends on a base model that is not on this machine. ``wrapped``: names
        of modules whose wrapper's name gets into the keys. ``keys``: keys of all
        adapters, and how many are ``renamed`` by it. ``hidden``: path of a PeftModel
        within a model that is none. ``saver``: what saves, ``"PeftModel"``,
        ``"PreTrainedModel"`` or ``"Module"``.
    """
    inner = innermost(model)
    facts = readable(left=lambda: _unsaved(inner))
    if "left" in facts:
        facts["unsaved"], facts["undecided"] = facts.pop("left")
    return facts | readable(
        wrapped=lambda: wrapper_names(inner),
        renamed=lambda: _renamed(inner),
        hidden=lambda: _hidden(inner),
        saver=lambda: _saver(inner),
    )


def _unsaved(model: torch.nn.Module) -> tuple[list[str], list[str]]:
    """Name trainable parameters that are not written, and those that may not be."""
    left = [e for e in named_trainables(model) if not _OF_AN_ADAPTER.search(e.name)]
    # Asking PEFT walks the model several times, and adapters alone are the usual case.
    saved = saved_parameters(model) if left else None
    if saved is None:
        return [], []
    left = [entry for entry in left if id(entry.parameter) not in saved]
    if all(
        embeddings_saved(model, name) is not None for name in adapter_configs(model)
    ):
        return [entry.name for entry in left], []
    embeddings = _embeddings(model)
    sure = [e.name for e in left if id(e.parameter) not in embeddings]
    return sure, [e.name for e in left if id(e.parameter) in embeddings]


def _embeddings(model: Any) -> set[int]:
    found = (model.get_input_embeddings(), model.get_output_embeddings())
    return {
        id(p) for module in found if module is not None for p in module.parameters()
    }


def wrapper_names(model: torch.nn.Module) -> list[str]:
    """Name the modules within ``model`` whose wrapper's name stays in their keys."""
    return [
        f"{path}.{_RENAMING[type(module).__name__]}"
        for path, module in model.named_modules()
        if path and type(module).__name__ in _RENAMING
    ]


def _renamed(model: torch.nn.Module) -> dict[str, Any]:
    """Count the keys that would be written, and those with a wrapper's name in them."""
    marks = [path.rpartition(".")[2] for path in wrapper_names(model)]
    if not marks:
        return {}
    configs = adapter_configs(model)
    keys = [key for name in configs for key in adapter_keys(model, name)]
    if not configs:
        keys = [name for name, _ in model.named_parameters()]
    known = {part for mark in marks for part in (f".{mark}.", f"{mark}.")}
    hit = [k for k in keys if any(part in k for part in known) and clean_name(k) != k]
    return {"keys": len(keys), "renamed": len(hit), "example": next(iter(hit), "")}


def _hidden(model: torch.nn.Module) -> str:
    """Return the path of the outermost PeftModel within a model that is none."""
    if "peft" not in sys.modules:
        return ""
    from peft import PeftModel

    if isinstance(model, PeftModel) or adapter_configs(model):
        return ""
    found = (p for p, each in model.named_modules() if isinstance(each, PeftModel))
    return clean_name(next(found, ""))


def _saver(model: torch.nn.Module) -> str:
    kinds = {base.__name__ for base in type(model).__mro__}
    order = ("PeftModel", "PreTrainedModel")
    return next((name for name in order if name in kinds), "Module")
