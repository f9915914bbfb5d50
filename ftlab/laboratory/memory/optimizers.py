"""Optimizers with the state that they have from the second step on."""

import inspect
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch

from ftlab.records.errors import BadValueError

MakeOptimizer = Callable[[Iterable[torch.nn.Parameter]], Any]

_TORCH = {
    "adamw": torch.optim.AdamW,
    "adam": torch.optim.Adam,
    "sgd": torch.optim.SGD,
    "adagrad": torch.optim.Adagrad,
    "rmsprop": torch.optim.RMSprop,
    "adafactor": torch.optim.Adafactor,
}
_BITSANDBYTES = {"adamw_8bit": "AdamW8bit", "lion_8bit": "Lion8bit"}
NAMES = (*_TORCH, *_BITSANDBYTES)


def optimizer_maker(given: Any) -> MakeOptimizer | None:
    """Return what makes an optimizer of a name, or one like a live one.

    Names of `transformers.TrainingArguments.optim` are understood.

    Examples
    --------
    >>> import torch
    >>> from ftlab.laboratory.memory.optimizers import optimizer_maker
    >>> optimizer_maker("adamw_torch_fused")([torch.nn.Parameter(torch.ones(1))])
    AdamW (
    ...
    """
    if given is None:
        return None
    if isinstance(given, torch.optim.Optimizer):
        given = getattr(given, "optimizer", given)  # accelerate's is around another
        kind: Any = type(given)
        known = inspect.signature(kind).parameters
        settings = {n: v for n, v in given.defaults.items() if n in known}
        return lambda parameters: kind(parameters, **settings)
    name = str(given).lower()
    bits = name.removeprefix("paged_").replace("_bnb_8bit", "_8bit")
    if bits in _BITSANDBYTES:
        return partial(_of_bitsandbytes, _BITSANDBYTES[bits])
    for suffix in ("_torch_fused", "_torch"):
        name = name.removesuffix(suffix)
    if name in _TORCH:
        return _TORCH[name]
    msg = (
        f"optimizer={given!r}: pass your optimizer, None for a step without one, or "
        f"one of {', '.join(NAMES)}."
    )
    raise BadValueError(msg)


def _of_bitsandbytes(name: str, parameters: Iterable[torch.nn.Parameter]) -> Any:
    import bitsandbytes

    return getattr(bitsandbytes.optim, name)(list(parameters))


def made_state(make: MakeOptimizer, trained: list[torch.nn.Parameter]) -> Any:
    """Return an optimizer for parameters, with its state; they keep their values."""
    optimizer = make(trained)
    rates = [(group, group["lr"]) for group in optimizer.param_groups]
    for group, _ in rates:
        group["lr"] = 0.0
    for parameter in trained:
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    for parameter in trained:
        parameter.grad = None
    for group, rate in rates:
        group["lr"] = rate
    return optimizer
