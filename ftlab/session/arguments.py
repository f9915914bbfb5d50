"""What the public functions were given: checked, with errors that name the fix."""

from collections.abc import Iterable
from typing import Any

import torch

from ftlab.laboratory.memory.gone import refuse_released
from ftlab.records.errors import AttachError, BadValueError
from ftlab.rules.words import an, listed


def watchable(target: Any, caller: str = "watch") -> torch.nn.Module:
    """Return ``target`` if it is a model with parameters, trainable or not.

    That none is trainable is how a run goes wrong: a rule says so, and why.
    """
    if not isinstance(target, torch.nn.Module):
        msg = (
            f"{caller}() was given {an(type(target).__name__)}; pass a transformers."
            "Trainer or the torch.nn.Module that your loop trains."
        )
        raise AttachError(msg)
    refuse_released(target)
    _refuse_script(target, caller)
    _refuse_lazy(target, caller)
    if next(target.parameters(), None) is None:
        msg = (
            f"{type(target).__name__} has no parameters, so there is nothing to "
            f"{_DOES.get(caller, 'watch')}. Pass the model that your optimizer trains."
        )
        raise AttachError(msg)
    return target


_DOES = {"preflight": "check"}


def _refuse_script(model: torch.nn.Module, caller: str) -> None:
    """Raise when torch lets no hook onto the model."""
    if type(model).__name__ == "RecursiveScriptModule":  # a traced module takes hooks
        name = model.original_name
        msg = (
            f"{caller}() was given a TorchScript module ({name}), which does not "
            f"support hooks. Watch and train the original {name}, and call "
            "torch.jit.script(model) after training."
        )
        raise AttachError(msg)


def _refuse_lazy(model: torch.nn.Module, caller: str) -> None:
    """Raise when parameters have no shape yet."""
    kind = torch.nn.UninitializedParameter
    lazy = [name for name, p in model.named_parameters() if isinstance(p, kind)]
    if lazy:
        msg = (
            f"{type(model).__name__} has parameters without a shape: {listed(lazy)}. "
            "Lazy modules such as LazyLinear create theirs in the first forward. Call "
            f"model(batch) once, create the optimizer, then {caller}."
        )
        raise AttachError(msg)


def first_given(*values: Any) -> Any:
    """Return the first that is not ``None``; a user's object may have no truth."""
    return next((each for each in values if each is not None), None)


def several(value: Any, method: str, what: str) -> Iterable[Any]:
    """Turn one object, several or ``None`` into a tuple of them."""
    if value is None:
        return ()
    found = tuple(value) if isinstance(value, list | tuple) else (value,)
    for item in found:
        if not callable(getattr(item, method, None)):
            msg = (
                f"{what}={item!r} has no {method}(); pass one {what} or a list of them."
            )
            raise BadValueError(msg)
    return found
