"""Models and batches that `ftlab.diff` and its like are given."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

import torch

from ftlab.executions.between import WAYS
from ftlab.executions.pairs import side
from ftlab.executions.side import Side
from ftlab.records.errors import BadValueError
from ftlab.replay.capsules.outside import from_outside
from ftlab.rules.words import an


def side_of(given: Any, name: str, batch: Mapping[str, Any]) -> Side:
    """Return the execution of a model, or of a function that runs one.

    Raises
    ------
    BadValueError
        It is neither, or a function that finds no model, or several.
    """
    if _is_module(given) or not isinstance(given, FunctionType | MethodType | partial):
        model = model_of(given, name)
        return side(model, on_device(batch, model))
    found = {id(v): v for _, v in from_outside(given) if _is_module(v)}
    if len(found) != 1:
        msg = (
            f"{name} is a function that uses {len(found)} models by name; it must use "
            "one, whose modules are compared. Pass the model, or write the function so "
            "that it finds it: lambda batch: model(**batch)."
        )
        raise BadValueError(msg)
    (model,) = found.values()
    given_there = on_device(batch, model)
    return Side(model, given_there, lambda: given(dict(given_there)))


def model_of(
    given: Any, name: str, call: str = "diff(model, other, batch)"
) -> torch.nn.Module:
    """Return a model, that of a trainer, or the one that a folder holds.

    ``call`` is how it is passed.

    Raises
    ------
    BadValueError
        It is none of these; ``name`` is the argument's.
    """
    if isinstance(given, str | Path):
        return _loaded(Path(given), name)
    model = getattr(given, "model", given) if not _is_module(given) else given
    if _is_module(model):
        return model
    if given is None and name == "b":
        ways = ", ".join(f'"{each}"' for each in WAYS)
        msg = (
            "diff(a) has one model: pass another to compare it with, "
            "diff(a, b, batch), or what to compare it between, "
            f"diff(model, batch, between=...): one of {ways}."
        )
        raise BadValueError(msg)
    msg = (
        f"{name} is {an(type(given).__name__)}; it must be a torch.nn.Module, or a "
        f"trainer that has one: {call}."
    )
    raise BadValueError(msg)


def _loaded(folder: Path, name: str) -> torch.nn.Module:
    """Load a causal language model from a checkpoint; adapters onto their base."""
    if (folder / "adapter_config.json").is_file():
        from peft import AutoPeftModelForCausalLM as Loader
    elif (folder / "config.json").is_file():
        from transformers import AutoModelForCausalLM as Loader
    else:
        msg = (
            f"{name}={str(folder)!r} holds neither config.json nor "
            "adapter_config.json; pass a checkpoint's folder, a capture's (as a), or "
            "a model."
        )
        raise BadValueError(msg)
    model: torch.nn.Module = Loader.from_pretrained(folder)
    return model


def _is_module(given: Any) -> bool:
    return isinstance(given, torch.nn.Module)


def batch_of(given: Any) -> Mapping[str, Any]:
    """Return the keyword arguments that a batch holds.

    Raises
    ------
    BadValueError
        It is no dictionary.
    """
    if isinstance(given, Mapping) or hasattr(given, "keys"):
        keys = list(given.keys())  # a BatchEncoding is no Mapping
        return {str(key): given[key] for key in keys}
    msg = (
        f"batch is {an(type(given).__name__)}; it must be a dictionary of what the "
        "model is called with: "
        "diff(a, b, next(iter(trainer.get_train_dataloader())))."
    )
    raise BadValueError(msg)


def on_device(batch: Any, model: torch.nn.Module) -> Mapping[str, Any]:
    """Return the model's keyword arguments, where the model is.

    Raises
    ------
    BadValueError
        A batch is no mapping.
    """
    if not hasattr(batch, "keys"):
        msg = (
            f"batch is {an(type(batch).__name__)}; it must be a dictionary of what the "
            "model is called with: prove(model=model, batch=next(iter(loader)))."
        )
        raise BadValueError(msg)
    device = next(model.parameters()).device
    keys = list(batch.keys())
    return {
        str(key): value.to(device)
        if isinstance(value := batch[key], torch.Tensor)
        else value
        for key in keys
    }
