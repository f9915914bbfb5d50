"""Tensors within the arguments and results of a module, by name."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import torch

Change = Callable[[str, torch.Tensor], torch.Tensor]


def changed(value: Any, change: Change, path: str = "") -> Any:
    """Return ``value`` with each of its tensors put through ``change``.

    What holds no tensor that changed is returned as the same object; what does is
    copied, with all else in it as it was. Objects of unknown classes are left alone.

    Examples
    --------
    >>> import torch
    >>> from ftlab.executions.nested import changed
    >>> ones = torch.ones(2)
    >>> changed((ones, {"scale": 3}), lambda path, tensor: tensor * 2, "out")
    (tensor([2., 2.]), {'scale': 3})
    """
    if isinstance(value, torch.Tensor):
        return change(path, value)
    if isinstance(value, tuple | list):
        items = [changed(v, change, f"{path}.{i}") for i, v in enumerate(value)]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        made = hasattr(value, "_fields")  # a named tuple takes its items one by one
        return type(value)(*items) if made else type(value)(items)
    if isinstance(value, Mapping):
        return _mapping(value, change, path)
    return value


def _mapping(value: Any, change: Change, path: str) -> Any:
    new = {k: changed(v, change, f"{path}.{k}") for k, v in value.items()}
    if all(new[key] is value[key] for key in new):
        return value
    if dataclasses.is_dataclass(value):  # the outputs of transformers
        given = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        made_of: Any = type(value)
        return made_of(**(given | new))
    if type(value) is dict:
        return new
    twin = value.copy() if hasattr(value, "copy") else dict(value)
    twin.update(new)
    return twin
