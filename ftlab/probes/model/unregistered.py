"""Parameters that modules keep where torch does not look: in lists, dicts and objects.

Only modules and parameters that are attributes themselves are registered. What is
found elsewhere and gets gradients takes part in the loss, and is in no optimizer, no
state dict and on no device but its own.
"""

import gc
import weakref
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch

from ftlab.probes.naming import clean_name
from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.schedule import every
from ftlab.probes.subject import Subject
from ftlab.records.step import Block, Column

DEPTH = 4
"""Containers within containers that are looked into."""

ITEMS = 256
"""Items of one container that are looked at."""

SEARCH_EVERY = 16
"""Due steps between two searches."""

MAKINGS = 4
"""Casts, moves and the like in a row that are followed back to a parameter."""

_OWN = frozenset(vars(torch.nn.Module()))
"""What every module has, and torch knows about."""

_PLAIN = (str, bytes, int, float, bool, type(None), type, torch.device, torch.dtype)


class Kept(NamedTuple):
    """A parameter that is kept out of torch's sight.

    Attributes
    ----------
    name
        As one would write it: ``"model.layers.0.gates[1].weight"``.
    owner
        Clean path of the module that has the attribute.
    attribute
        Its name.
    container
        The class of what it holds; ``"Tensor"`` for one that was made of a parameter.
    parameter
        The parameter, or the tensor that was made of it; held weakly.
    """

    name: str
    owner: str
    attribute: str
    container: str
    parameter: "weakref.ref[torch.Tensor]"


class Unregistered(Probe):
    """Name unregistered parameters that receive gradients."""

    table: ClassVar[str] = "unregistered"
    columns: ClassVar[tuple[Column, ...]] = (
        Column("held", "1", "1 where an optimizer of this process holds it."),
    )

    def __init__(self, interval: int = 16) -> None:
        self.schedule = every(interval)
        self._turn = 0
        self._kept: list[Kept] = []

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Look which of them have a gradient."""
        if self._turn % SEARCH_EVERY == 0:
            self._kept = list(unregistered(moment.subject.model))
        self._turn += 1
        live = [(each, source_of(each.parameter())) for each in self._kept]
        used = {
            id(parameter): each
            for each, parameter in live
            if parameter is not None and parameter.grad is not None
        }
        return (_rows(moment, used),) if used else ()


def unregistered(model: torch.nn.Module) -> Iterator[Kept]:
    """Yield trainable parameters that modules of ``model`` keep unregistered."""
    seen = {id(parameter) for parameter in model.parameters()}
    modules = {id(module) for module in model.modules()}
    for path, module in model.named_modules():
        for attribute, value in list(vars(module).items()):
            if attribute in _OWN or isinstance(value, _PLAIN):
                continue
            place = clean_name(f"{path}.{attribute}" if path else attribute)
            kind = type(value).__name__
            for name, tensor in _inside(place, value, (modules, set()), DEPTH):
                parameter = source_of(tensor)
                if parameter is None or id(parameter) in seen:
                    continue
                if parameter.requires_grad:
                    seen.add(id(parameter))
                    held = weakref.ref(tensor)
                    yield Kept(name, clean_name(path), attribute, kind, held)


def source_of(tensor: torch.Tensor | None) -> torch.nn.Parameter | None:
    """Return the parameter that a tensor is, or was made of alone: cast, moved, scaled.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.model.unregistered import source_of
    >>> weight = torch.nn.Parameter(torch.zeros(2))
    >>> source_of(weight.to(torch.bfloat16)) is weight, source_of(weight + weight)
    (True, None)
    """
    if tensor is None or isinstance(tensor, torch.nn.Parameter):
        return tensor
    node = tensor.grad_fn
    for _ in range(MAKINGS):
        before = [each for each, _ in getattr(node, "next_functions", ()) if each]
        if len(before) != 1:
            return None
        node = before[0]
        found = getattr(node, "variable", None)
        if isinstance(found, torch.nn.Parameter):
            return found
    return None


def _inside(
    place: str, value: Any, passed: tuple[set[int], set[int]], depth: int
) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield parameters, and what was made of one, named by the way to them."""
    if isinstance(value, torch.Tensor):
        if source_of(value) is None:
            return
        yield place, value
        return
    modules, seen = passed
    known = id(value) in modules or id(value) in seen
    if known or isinstance(value, _PLAIN):
        return
    seen.add(id(value))
    if isinstance(value, torch.nn.Module):
        for name, parameter in value.named_parameters():
            yield f"{place}.{name}", parameter
        return
    if depth:
        for name, item in _items(value):
            yield from _inside(f"{place}{name}", item, passed, depth - 1)


def _items(value: Any) -> list[tuple[str, Any]]:
    """List what a container or an object of a class of one's own holds."""
    if isinstance(value, dict):
        pairs = list(value.items())[:ITEMS]
        known = [pair for pair in pairs if isinstance(pair[0], str | int)]
        return [(f"[{key!r}]", item) for key, item in known]
    if isinstance(value, list | tuple):
        return [(f"[{index}]", item) for index, item in enumerate(value[:ITEMS])]
    if callable(value) or type(value).__module__.partition(".")[0] in _LIBRARIES:
        return []
    inside = getattr(value, "__dict__", None)
    if not isinstance(inside, dict):
        return []
    return [(f".{name}", item) for name, item in list(inside.items())[:ITEMS]]


_LIBRARIES = frozenset(
    {"builtins", "torch", "transformers", "peft", "accelerate", "trl"}
)
"""Whose objects are not looked into: what they hold they know about."""


def _rows(moment: Moment, used: dict[int, Kept]) -> Reading:
    held = _held(moment.subject, set(used))
    rows = {}
    for own, each in used.items():
        meta = {
            "owner": each.owner,
            "attribute": each.attribute,
            "container": each.container,
            "held": own in held,
        }
        row = moment.name("unregistered", each.name, "param", meta, trainable=True)
        rows[row] = float(own in held)
    ids = np.array(sorted(rows), np.int32)
    values = np.array([rows[row] for row in ids.tolist()], np.float32)
    block = Block("unregistered", moment.step, ids, {"held": values})
    return Reading(torch.zeros(0), lambda _: (block,))


def _held(subject: Subject, wanted: set[int]) -> set[int]:
    """Return which parameters an optimizer holds, of the subject or of anybody."""
    groups = [group for each in subject.optimizers for group in each.param_groups]
    found = wanted & {id(p) for group in groups for p in group["params"]}
    if found != wanted:
        for each in gc.get_objects():
            if issubclass(type(each), torch.optim.Optimizer):
                for group in each.param_groups:
                    found |= wanted & {id(p) for p in group["params"]}
    return found
