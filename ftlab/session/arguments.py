"""What the public functions were given: checked, with errors that name the fix."""

from collections.abc import Iterable
from typing import Any

import torch

from ftlab.records.errors import AttachError, BadValueError
from ftlab.rules.words import an, listed


def trainable(target: Any) -> torch.nn.Module:
    """Return ``target`` if it is a model with something to train."""
    if not isinstance(target, torch.nn.Module):
        msg = (
            f"watch() was given {an(type(target).__name__)}; pass a transformers."
            "Trainer or the torch.nn.Module that your loop trains."
        )
        raise AttachError(msg)
    _refuse_script(target)
    _refuse_lazy(target)
    count = sum(1 for _ in target.parameters())
    name = type(target).__name__
    if count == 0:
        msg = (
            f"{name} has no parameters, so there is nothing to watch. "
            "Pass the model that your optimizer trains."
        )
        raise AttachError(msg)
    if not any(parameter.requires_grad for parameter in target.parameters()):
        msg = (
            f"None of the {count} parameters of {name} requires a gradient, so nothing "
            "can be trained. For a saved adapter: PeftModel.from_pretrained(base, "
            "path, is_trainable=True); for a new one: get_peft_model(base, config)."
        )
        raise AttachError(msg)
    return target


def _refuse_script(model: torch.nn.Module) -> None:
    """Raise when torch lets no hook onto the model."""
    if type(model).__name__ == "RecursiveScriptModule":  # a traced module takes hooks
        name = model.original_name
        msg = (
            f"watch() was given a TorchScript module ({name}), on which torch allows "
            f"no hooks. Watch and train the {name} that the script was made from, and "
            "call torch.jit.script(model) after training."
        )
        raise AttachError(msg)


def _refuse_lazy(model: torch.nn.Module) -> None:
    """Raise when parameters have no shape yet."""
    kind = torch.nn.UninitializedParameter
    lazy = [name for name, p in model.named_parameters() if isinstance(p, kind)]
    if lazy:
        msg = (
            f"{type(model).__name__} has parameters without a shape: {listed(lazy)}. "
            "Lazy modules such as LazyLinear make theirs in the first forward. Call "
            "model(batch) once, make the optimizer, then watch."
        )
        raise AttachError(msg)


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
