"""Where a difference is born, and not only carried on."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

import torch

from ftlab.executions.captures import Captured, digest
from ftlab.executions.floors import Ratios
from ftlab.executions.listening import Place, heard_modules
from ftlab.executions.losses import Lost
from ftlab.executions.side import Side


@dataclass(slots=True)
class Birth:
    """A module whose code makes something else of the same.

    Attributes
    ----------
    module, call
        Whose code.
    phase
        Forward, or backward alone.
    places
        What differs behind it, in order of execution.
    also
        Modules of the same name in other blocks, in which the same differs.
    """

    module: str
    call: int
    phase: Literal["forward", "backward"]
    places: list[Place] = field(default_factory=list)
    also: list[str] = field(default_factory=list)


def births(
    local: Ratios | Lost, told: float, backward: float | None = None
) -> list[Birth]:
    """List what is born in both phases, in order of execution, by module.

    Parameters
    ----------
    local
        Ratios of what both sides make of the same inputs.
    told, backward
        Ratio from which a difference counts, and one of gradients if that is another.
    """
    limits = {"forward": told, "backward": told if backward is None else backward}
    modules = {place.module for place in local.values}
    found: dict[tuple[str, int], Birth] = {}
    for phase, ratios in (("forward", local.values), ("backward", local.gradients)):
        for place, ratio in ratios.items():
            if not len(ratio) or ratio.max() <= limits[phase]:
                continue
            module, call = maker(place, modules, phase == "forward")
            made = Birth(module, call, "forward" if phase == "forward" else "backward")
            birth = found.setdefault((module, call), made)
            if birth.phase == phase:
                birth.places.append(place)
    return _by_block(found.values())


def _by_block(found: Iterable[Birth]) -> list[Birth]:
    """Join those that differ in numbers of blocks alone."""
    joined: dict[object, Birth] = {}
    for birth in found:
        first = birth.places[0]
        names = (_NUMBER.sub("*", birth.module), _NUMBER.sub("*", first.module))
        same = joined.setdefault((names, birth.phase, first.kind, first.path), birth)
        if same is not birth:
            same.places += birth.places
            if birth.module != same.module:
                same.also.append(birth.module)
    return list(joined.values())


_NUMBER = re.compile(r"(?<=\.)\d+(?=\.|$)")


def maker(place: Place, modules: set[str], forward: bool) -> tuple[str, int]:
    """Return whose code made the value at a place, or its gradient.

    What a module is given is made by the one around it, and in backward the gradient of
    what it returns is. Modules are known by name; a module that runs several times
    within one that runs once is not told from others, so its call is 0.

    Examples
    --------
    >>> from ftlab.executions.births import maker
    >>> from ftlab.executions.listening import Place
    >>> modules = {"", "layers.0", "layers.0.mlp"}
    >>> maker(Place("layers.0.mlp", 0, "in", "0"), modules, True)
    ('layers.0', 0)
    >>> maker(Place("layers.0.mlp", 0, "in", "0"), modules, False)
    ('layers.0.mlp', 0)
    """
    own = place.kind != "in" if forward else place.kind != "out"
    if own or place.module == "":
        return place.module, place.call
    return around(place.module, modules), 0


def around(module: str, modules: Iterable[str]) -> str:
    """Return the innermost of ``modules`` that holds another, by their names."""
    known = set(modules)
    while module:
        module = module.rpartition(".")[0]
        if module in known:
            return module
    return ""


def words(place: Place, birth: Birth) -> str:
    """Say what differs first behind a birth."""
    if place.kind == "weight":
        return f"the gradient of its {place.path}"
    path = f" ({place.path})" if place.path else ""
    verb = "is given" if place.kind == "in" else "returns"
    who = "it" if place.module == birth.module else place.module or "the model"
    what = f"what {who} {verb}{path}"
    return f"the gradient of {what}" if birth.phase == "backward" else what


def differing_weights(a: Side | Captured, b: Side, module: str) -> tuple[str, ...]:
    """Name the parameters and buffers of a module that differ between two sides.

    Examples
    --------
    >>> import torch
    >>> from ftlab.executions.births import differing_weights
    >>> from ftlab.executions.side import Side
    >>> one, other = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)
    >>> _ = other.load_state_dict(one.state_dict()), other.bias.data.add_(1)
    >>> differing_weights(Side(one, {}, print), Side(other, {}, print), "")
    ('bias',)
    """
    theirs = _tensors(b.model, module)
    if isinstance(a, Captured):
        prefix = f"{module}." if module else ""
        known = {name: a.weights.get(f"{prefix}{name}") for name in theirs}
        return tuple(n for n, t in theirs.items() if known[n] not in (None, digest(t)))
    mine = _tensors(a.model, module)
    return tuple(
        name
        for name, left in mine.items()
        if (right := theirs.get(name)) is not None and not _same(left, right)
    )


def _tensors(model: torch.nn.Module, wanted: str) -> dict[str, torch.Tensor]:
    found: dict[str, torch.Tensor] = {}
    for name, module in heard_modules(model):
        if name == wanted:
            found |= dict(module.named_parameters(recurse=False))
            found |= dict(module.named_buffers(recurse=False))
    return found


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a is b:
        return True
    if a.shape != b.shape:
        return False
    a, b = a.detach().cpu(), b.detach().cpu()
    return bool(((a == b) | ((a != a) & (b != b))).all())  # NaN is the same as NaN
