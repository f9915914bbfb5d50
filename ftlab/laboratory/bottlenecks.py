"""Bottleneck adapters, known by their structure: down to few features, and up again.

Neither a name nor a library is asked for. A module of two linear layers, d to m and m
to d with m < d, is an adapter where it returns what it was given once its up-projection
returns nothing, or where it alone is trained and all other matrices around are frozen.
Those of a library that has several by name, and says which of them run (AdapterHub's
``adapters``), are taken as they are held.
"""

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from ftlab.executions.pairs import evaluating
from ftlab.executions.side import WithoutDropout
from ftlab.records import replaying
from ftlab.records.attributes import attribute_of
from ftlab.records.handle import HandleStack

MANY = 16
"""A bottleneck has fewer modules: two projections, norms, activation, dropout, gate."""


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """A bottleneck adapter.

    Attributes
    ----------
    path, module
        Where it is, and what.
    up
        Its up-projection.
    width, narrow
        Features that it is given, and to which it goes down.
    residual
        Whether it adds what it was given itself; else who calls it does.
    """

    path: str
    module: torch.nn.Module
    up: torch.nn.Module
    width: int
    narrow: int
    residual: bool = False


def bottlenecks(model: torch.nn.Module, taken: Iterable[int] = ()) -> list[Bottleneck]:
    """List the bottleneck adapters of a model that no library speaks for.

    Parameters
    ----------
    model
        Any; nothing of it is changed.
    taken
        Ids of the parameters that belong to other adapters.

    Examples
    --------
    >>> import torch
    >>> from ftlab.laboratory.bottlenecks import bottlenecks
    >>> narrow = torch.nn.Sequential(
    ...     torch.nn.Linear(8, 2), torch.nn.ReLU(), torch.nn.Linear(2, 8)
    ... )
    >>> frozen = torch.nn.Linear(8, 8).requires_grad_(False)
    >>> (found,) = bottlenecks(torch.nn.Sequential(frozen, narrow))
    >>> found.path, found.width, found.narrow, found.residual
    ('1', 8, 2, False)
    """
    own = set(taken)
    found = [each for each in _shaped(model) if own.isdisjoint(_ids(each.module))]
    held = {id(m) for _, holder in library_layers(model) for m in holder.modules()}
    found = [each for each in found if id(each.module) not in held]
    own |= {each for one in found for each in _ids(one.module)}
    kept = []
    for each in found:
        if _adds(each):
            kept.append(replace(each, residual=True))
        elif _alone_is_trained(model, each, own):
            kept.append(each)
    return kept


def library_layers(model: torch.nn.Module) -> Iterator[tuple[str, Any]]:
    """Yield layers that hold bottlenecks by name and say which of them run."""
    for path, module in model.named_modules():
        if hasattr(type(module), "get_active_setup") and held_adapters(module):
            yield path, module


def held_adapters(module: torch.nn.Module) -> dict[str, Bottleneck]:
    """Return the bottlenecks that a module holds by name; empty if it holds others."""
    for name, child in module.named_children():
        if not isinstance(child, torch.nn.ModuleDict) or not len(child):
            continue
        found = {n: shaped(f"{name}.{n}", each) for n, each in child.items()}
        if all(found.values()):
            return {n: each for n, each in found.items() if each is not None}
    return {}


def shaped(path: str, module: torch.nn.Module) -> Bottleneck | None:
    """Return a module as a bottleneck if it has the shape of one."""
    parts = list(itertools.islice(module.modules(), MANY))
    if len(parts) == MANY or any(isinstance(e, torch.nn.ModuleDict) for e in parts):
        return None
    linear = [(each, size) for each in parts if (size := _sides(each))]
    for (down, (width, narrow)), (up, back) in itertools.combinations(linear, 2):
        if narrow < width and back == (narrow, width):
            inside = _ids(down) | _ids(up)
            rest = [p for p in module.parameters() if id(p) not in inside]
            small = all(each.numel() <= width for each in rest)
            return Bottleneck(path, module, up, width, narrow) if small else None
    return None


@contextlib.contextmanager
def silent(ups: Sequence[torch.nn.Module]) -> Iterator[list[int]]:
    """Let up-projections return zeros; yields a list that each call makes longer."""
    handles, called = HandleStack(), list[int]()

    def nothing(module: torch.nn.Module, _args: Any, output: torch.Tensor) -> Any:
        called.append(id(module))
        return torch.zeros_like(output)

    for up in ups:
        handles.add(up.register_forward_hook(nothing))
    try:
        yield called
    finally:
        handles.remove()


def caller_of(model: torch.nn.Module, path: str) -> torch.nn.Module:
    """Return the innermost module around a path that can add to what it returns."""
    lists = torch.nn.ModuleList | torch.nn.ModuleDict | torch.nn.Sequential
    path = path.rpartition(".")[0]
    while path and isinstance(model.get_submodule(path), lists):
        path = path.rpartition(".")[0]
    return model.get_submodule(path)


def _shaped(model: torch.nn.Module) -> list[Bottleneck]:
    """List what has the shape of a bottleneck, each as the outermost module of it."""
    found: list[Bottleneck] = []
    inside: tuple[str, ...] = ()
    for path, module in model.named_modules():
        lists = isinstance(module, torch.nn.ModuleList | torch.nn.ModuleDict)
        # a narrow T5 adds what its feed-forward part was given itself
        theirs = type(module).__module__.startswith("transformers.models.")
        if lists or theirs or not path or path.startswith(inside):
            continue
        each = shaped(path, module)
        if each is not None:
            found.append(each)
            inside = (*inside, f"{path}.")
    return found


def _sides(module: Any) -> tuple[int, int] | None:
    """Return how many features a linear layer takes and returns."""
    if any(True for _ in module.children()):
        return None
    if hasattr(module, "nf") and isinstance(attribute_of(module, "nx"), int):
        return module.nx, module.nf  # GPT-2's Conv1D
    size = (attribute_of(module, "in_features"), attribute_of(module, "out_features"))
    return size if all(isinstance(each, int) for each in size) else None


def _ids(module: torch.nn.Module) -> set[int]:
    return {id(each) for each in module.parameters()}


def _adds(each: Bottleneck) -> bool:
    """Say whether it returns what it is given where its up-projection returns nothing.

    It is called with numbers made up for that; a second argument is a residual.
    """
    weight = next(each.module.parameters())
    kind = weight.dtype if weight.is_floating_point() else torch.float32
    given = torch.linspace(-1, 1, 2 * each.width, dtype=kind, device=weight.device)
    given = given.view(1, 2, each.width)
    with (
        replaying.marked(),
        evaluating(each.module),
        WithoutDropout(),
        torch.no_grad(),
        silent([each.up]) as called,
    ):
        for arguments in ((given,), (given, 2 * given)):
            with contextlib.suppress(Exception):  # it may want something else
                output: Any = each.module(*(a.clone() for a in arguments))
                first = output[0] if isinstance(output, tuple) else output
                if called and any(torch.equal(first, a) for a in arguments):
                    return True
    return False


def _alone_is_trained(model: torch.nn.Module, each: Bottleneck, own: set[int]) -> bool:
    """Say whether it is trained, and no other matrix around it."""
    if not all(p.requires_grad for p in each.module.parameters()):
        return False
    path = each.path
    while path:
        path = path.rpartition(".")[0]
        held = model.get_submodule(path).parameters()
        around = [p for p in held if p.dim() > 1 and id(p) not in own]
        if around:
            return not any(p.requires_grad for p in around)
    return False
