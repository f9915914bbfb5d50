"""The arguments of a step, kept so that the step can be called with them again."""

import copy
from collections import UserDict
from collections.abc import Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

import torch

from ftlab.replay.capsules.kept import KeptTensor
from ftlab.replay.torch_private import bytes_of

DEPTH = 3
"""How far into objects within objects is looked."""

_NO_BATCHES = (torch.Tensor, torch.nn.Module, type, FunctionType, ModuleType)


class KeptInputs:
    """Positional and keyword arguments of one call.

    Training code pops keys and appends to lists, so the contents of every container are
    remembered and put back in place, and so are the attributes of objects: the caller's
    objects end as they would have ended without a replay. Tensors are kept as
    `KeptTensor`; the rest is passed on as it is.
    """

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args = args
        self.kwargs = kwargs
        self._contents = [(c, c.copy()) for c in _containers((args, kwargs))]
        self._tensors = [
            KeptTensor.of(
                f"the batch's {place}" if place else "the batch", tensor, sampled=True
            )
            for place, tensor in named_tensors((args, kwargs))
            if not isinstance(tensor, torch.nn.Parameter)
        ]

    @property
    def nbytes(self) -> int:
        """Bytes of the tensors, without copies of them."""
        return sum(bytes_of(kept.tensor) for kept in self._tensors)

    def obstacle(self) -> str | None:
        """Say which argument cannot be restored, if any."""
        return next((o for kept in self._tensors if (o := kept.obstacle())), None)

    def restore(self) -> None:
        """Put contents and values back."""
        for container, contents in self._contents:
            container.clear()
            if isinstance(container, list):
                container.extend(contents)
            else:
                container.update(contents)
        for kept in self._tensors:
            kept.restore()

    def value_of(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return what ``tensor`` held at the start of the step."""
        kept = next((k for k in self._tensors if k.tensor is tensor), None)
        return tensor.detach() if kept is None else kept.value

    def at_start(self, value: Any) -> Any:
        """Return ``value`` with its containers as they were at the start of the step.

        Containers are copied, and tensors are not.
        """
        before = {id(container): contents for container, contents in self._contents}

        def rebuilt(value: Any) -> Any:
            contents: Any = before.get(id(value), value)
            if isinstance(value, UserDict):
                data = before.get(id(value.data), value.data)
                twin: Any = copy.copy(value)
                twin.data = {key: rebuilt(item) for key, item in data.items()}
                return twin
            if isinstance(contents, dict):
                twin = copy.copy(contents)
                twin.update({key: rebuilt(item) for key, item in contents.items()})
                return twin
            if type(contents) in (list, tuple):
                return type(contents)(rebuilt(item) for item in contents)
            return contents

        return rebuilt(value)

    def batch(self) -> Any:
        """Return what is most likely the batch: the first mapping, or the arguments.

        Containers are as they were at the start of the step, whatever the step did.
        """
        before = {id(container): contents for container, contents in self._contents}
        values = (*self.args, *self.kwargs.values())
        for value in values:
            if isinstance(value, Mapping | UserDict):
                data = value.data if isinstance(value, UserDict) else value
                return dict(before.get(id(data), data))
        shown = [v for v in values if not isinstance(v, torch.nn.Module)]
        return shown[0] if len(shown) == 1 else tuple(shown)


def _containers(value: Any, depth: int = DEPTH) -> Iterator[Any]:
    """Yield the dictionaries and lists in ``value``, outer ones first."""
    if isinstance(value, UserDict):  # BatchEncoding and its like
        value = value.data
    elif not isinstance(value, dict | list | tuple):
        held = attributes(value) if depth else None
        value, depth = held or (), depth - 1
    if isinstance(value, dict | list):
        yield value
    for item in value.values() if isinstance(value, dict) else value:
        yield from _containers(item, depth)


def attributes(value: Any) -> dict[str, Any] | None:
    """Return what an object holds that may be a batch, a dataclass for example."""
    held = getattr(value, "__dict__", None)
    if isinstance(value, _NO_BATCHES) or not isinstance(held, dict):
        return None
    return held


def named_tensors(
    value: Any, place: str = "", depth: int = DEPTH
) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the tensors inside containers with the last key that leads to each."""
    if isinstance(value, torch.Tensor):
        yield repr(place) if place else "", value
    elif isinstance(value, Mapping | UserDict):
        for key, item in value.items():
            yield from named_tensors(item, str(key), depth)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from named_tensors(item, place, depth)
    elif depth and (held := attributes(value)) is not None:
        for key, item in held.items():
            yield from named_tensors(item, key, depth - 1)
