"""Adapters that were trained and saved before a case begins."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.faults.builders.trainers import folder
from ftlab.faults.fault import Case
from ftlab.faults.variation import current


def taught(model: Any = None, steps: int = 12, lr: float = 1e-2) -> Any:
    """Train a model, a LoRA of `builders.tiny` by default, for some steps."""
    model = lora() if model is None else model
    optimizer = adamw(model, lr=lr)
    Case(model, optimizer, batches(), plain_step(model, optimizer)).run(steps)
    return model


def saved(model: Any, owner: Any = None) -> Path:
    """Save a model's adapter and return its folder, which goes when ``owner`` goes.

    PEFT puts an adapter that is not called "default" into a folder of its name.
    """
    path = folder(model if owner is None else owner)
    model.save_pretrained(path)
    name = current().adapter
    return path if name == "default" else path / name


def loaded(base: Any, path: Path, **settings: Any) -> Any:
    """Put a saved adapter on a base, under the name of the variation."""
    from peft import PeftModel

    return PeftModel.from_pretrained(base, path, current().adapter, **settings)


def head_of(model: Any) -> str:
    """Name the output head of a model of `builders.tiny.base`."""
    return "verdict" if hasattr(model, "verdict") else "lm_head"


def put_by_hand(model: Any, tensors: Mapping[str, torch.Tensor], head: str) -> None:
    """Copy tensors of an adapter's file into a model by a loader of one's own.

    Parameters
    ----------
    head
        Where tensors of the head go: ``"modules_to_save.<adapter>"``, or
        ``"original_module"``, which nobody calls while the adapter is on.
    """
    name = current().adapter
    known = dict(model.named_parameters())
    with torch.no_grad():
        for key, tensor in tensors.items():
            module, _, end = key.rpartition(".")
            inside = name if ".lora_" in key else head
            known[f"{module}.{inside}.{end}"].copy_(tensor)
