"""Tensors, and what holds some, shown by their facts and not as screens of numbers.

They are what they were: a tensor computes as any other, a batch is a dict as before,
and what one takes out of it is the tensor itself.
"""

import copy
from collections import UserDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import torch

from ftlab.replay.capsules.inputs import named_tensors
from ftlab.replay.stops.describe import facts_of
from ftlab.replay.stops.histogram import Histogram
from ftlab.replay.stops.report import TensorFacts
from ftlab.views.pausing.pause_html import tensors_html

_LEVELS = " ▁▂▃▄▅▆▇█"
_PLAIN = (dict, list, tuple)

Entry = tuple[TensorFacts, str]


class ShownTensor(torch.Tensor):
    """A tensor that is printed as shape, dtype, range, bad values and histogram.

    Whatever is computed of it is a plain tensor; ``tensor[:]`` prints its numbers.

    Examples
    --------
    >>> import torch
    >>> from ftlab.session.debugging.shown import shown_tensor
    >>> shown = shown_tensor(torch.tensor([1.0, 2.0, 2.0, float("nan")]))
    >>> shown
    float32[4], 1 to 2, 1 NaN  ▄              █
    >>> shown[1:]
    tensor([2., 2., nan])
    """

    # As for parameters: what comes of an operation is no longer of this class.
    __torch_function__ = torch.nn.Parameter.__torch_function__

    def _entries(self) -> list[Entry]:
        return [_entry("", self.as_subclass(torch.Tensor))]

    def __repr__(self) -> str:  # type: ignore[override]  # torch's has an untyped keyword
        return _text(self._entries())

    def _repr_html_(self) -> str:
        return tensors_html(self._entries())

    def __deepcopy__(self, memo: dict[int, Any]) -> torch.Tensor:
        return copy.deepcopy(self.as_subclass(torch.Tensor), memo)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.as_subclass(torch.Tensor).__reduce_ex__(protocol)


class _Shown:
    """A container that is printed with one line per tensor; copies are plain ones."""

    shown_names: Sequence[str] = ()

    def _entries(self) -> Iterator[Entry | str]:
        named = list(_named(self))
        names = self.shown_names
        if len(names) != len(named):
            names = [name for name, _ in named]
        for name, (_, value) in zip(names, named, strict=True):
            is_tensor = isinstance(value, torch.Tensor)
            yield _entry(name, value) if is_tensor else f"{name}: {value}"

    def __repr__(self) -> str:
        return _text(self._entries())

    def _repr_html_(self) -> str:
        return tensors_html(self._entries())

    def __reduce_ex__(self, protocol: Any) -> Any:
        kind: Any = type(self).__base__
        if kind in _PLAIN:
            return kind, (kind(self),)
        plain = kind.__copy__(self)
        plain.__class__ = kind
        return copy.copy, (plain,)


_METHODS = ("shown_names", "_entries", "__repr__", "_repr_html_", "__reduce_ex__")


def shown_tensor(tensor: torch.Tensor | None) -> torch.Tensor | None:
    """Return a plain tensor as one that is shown by its facts; others as they are."""
    return tensor.as_subclass(ShownTensor) if type(tensor) is torch.Tensor else tensor


def shown(value: Any, names: Sequence[str] = ()) -> Any:
    """Return a tuple, list or dict of the same entries that is shown by their facts.

    Examples
    --------
    >>> import torch
    >>> from ftlab.session.debugging.shown import shown
    >>> batch = shown({"ids": torch.tensor([[3, 4]]), "text": ["a"]})
    >>> batch
    ids: int64[1, 2], 3 to 4  █              █
    text: list
    >>> batch["ids"], batch == {"ids": batch["ids"], "text": ["a"]}
    (tensor([[3, 4]]), True)
    """
    kind: Any = type(value)
    if kind in _PLAIN:
        made = _kind(kind)(value)
    elif isinstance(value, UserDict):
        made = copy.copy(value)
        made.__class__ = _kind(kind)
    else:
        return shown_tensor(value)
    if names:
        made.shown_names = tuple(names)
    return made


@cache
def _kind(kind: Any) -> Any:
    """Make a class of its own, of one base: else an object could not change to it."""
    return type(kind.__name__, (kind,), {n: vars(_Shown)[n] for n in _METHODS})


def _named(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the tensors with their names, and what holds none with that it is."""
    keyed = isinstance(value, Mapping | UserDict)
    for key, item in value.items() if keyed else enumerate(value):
        name = str(key)
        found = list(named_tensors(item, name))
        for inner, tensor in found:
            deeper = inner.strip("'")
            yield (name if deeper == name else f"{name}.{deeper}"), tensor
        if not found:
            yield name, type(item).__name__


def _entry(name: str, tensor: torch.Tensor) -> Entry:
    tensor = tensor.detach()
    plain = tensor.is_floating_point() or tensor.is_complex()
    counted = Histogram.of(tensor if plain else tensor.float())
    counts = counted.counts if counted is not None else ()
    top = max(counts, default=0)
    bars = (_LEVELS[-(-(len(_LEVELS) - 1) * each // top)] for each in counts if top)
    return facts_of(name, tensor), "".join(bars)


def _text(entries: Iterable[Entry | str]) -> str:
    lines = [e if isinstance(e, str) else f"{e[0]}  {e[1]}".rstrip() for e in entries]
    return "\n".join(lines) or "()"
