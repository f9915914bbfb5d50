"""What in a model, or beside it, may be a teacher, and what learns from it."""

import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch

from ftlab.probes.adapter.adapter_tree import adapted_layers, holders
from ftlab.probes.modes.mode_parts import Part, parts_of
from ftlab.probes.naming import roles_of
from ftlab.probes.subject import Subject
from ftlab.probes.taps.forward import innermost

MANY = 16
"""Frozen parts that are looked at, at most."""

Able = Mapping[str, torch.nn.Module]
"""The modules that take hooks, by path."""


@dataclass(frozen=True, slots=True)
class Teacher:
    """What may be one.

    Attributes
    ----------
    path
        In the watched model, ``""`` for that itself; the class of another model.
    kind
        ``"part"`` of the watched model, ``"own"``: it is its own reference, or
        ``"other"``.
    parts
        The dropouts in it.
    learners
        Paths of what learns beside it.
    answers
        Whether a pass that begins now is a teacher's.
    """

    path: str
    kind: str
    module: "weakref.ref[torch.nn.Module]"
    parts: tuple[Part, ...]
    learners: tuple[str, ...]
    answers: Callable[[], bool]

    @property
    def p(self) -> float:
        """The largest chance that something is dropped."""
        return max((part.p for part in self.parts), default=0.0)

    def dropouts_on(self) -> int:
        """Count the dropouts that are on in a pass that begins now."""
        module = self.module()
        if module is None or not module.training or not self.answers():
            return 0
        return sum(part.on for part in self.parts)


def teachers_in(subject: Subject, able: Able) -> list[Teacher]:
    """List what may be a teacher within the watched model."""
    model = innermost(subject.model)
    if "" not in able:
        return []
    inside = [each for _, each in zip(range(MANY), _frozen(model, able), strict=False)]
    return [*inside, *_own(subject, model)]


def teacher_beside(module: torch.nn.Module) -> Teacher:
    """Describe another model."""
    name = f"another {type(module).__name__}"
    return Teacher(
        name, "other", weakref.ref(module), _dropouts(module), ("",), lambda: True
    )


def _own(subject: Subject, model: torch.nn.Module) -> Iterator[Teacher]:
    """Describe the model as it is without its adapter, or with a frozen one."""
    held = _held(subject) if holders(model) else frozenset[str]()
    parts = tuple(part for part in _dropouts(model) if part.layer is None)
    first = next(adapted_layers(model), None)
    if not held or not parts or first is None:
        return
    layer = weakref.ref(first.module)

    def is_reference() -> bool:
        now = layer()
        if now is None:
            return False
        return bool(now.disable_adapters) or held.isdisjoint(now.active_adapters)

    yield Teacher("", "own", weakref.ref(model), parts, (), is_reference)


def _held(subject: Subject) -> frozenset[str]:
    """Name the adapters that an optimizer holds."""
    groups = [group for each in subject.optimizers for group in each.param_groups]
    ids = {id(each) for group in groups for each in group["params"]}
    roles = roles_of(subject.model).items()
    return frozenset(r.adapter for key, r in roles if key in ids and r.adapter)


def _frozen(model: torch.nn.Module, able: Able) -> Iterator[Teacher]:
    """Yield the largest frozen parts with a dropout beside something that learns.

    What PEFT is around is not looked into: its parts do not answer by themselves.
    """
    learning = {
        name[:place]
        for name, weight in model.named_parameters()
        if weight.requires_grad
        for place, letter in enumerate(name)
        if letter == "."
    }
    carriers = {id(holder.module) for holder in holders(model)}
    waiting = [("", model)]
    while waiting:
        path, module = waiting.pop(0)
        if id(module) in carriers:
            continue
        below = f"{path}." if path else ""
        children = [(f"{below}{name}", each) for name, each in module.named_children()]
        beside = tuple(where for where, _ in children if where in learning)
        waiting += [(where, each) for where, each in children if where in beside]
        for where, each in children:
            parts = _dropouts(each) if where not in beside and where in able else ()
            if parts and beside and any(True for _ in each.parameters()):
                kept = weakref.ref(each)
                yield Teacher(where, "part", kept, parts, beside, lambda: True)


def _dropouts(module: torch.nn.Module) -> tuple[Part, ...]:
    return tuple(part for part in parts_of(module) if part.kind == "dropout")
