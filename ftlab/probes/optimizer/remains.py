"""What was met in the user's loop, held weakly, and what remains of it once it is gone.

A watch keeps nobody's optimizer alive: Adam's moments are twice the parameters that it
trains. What was met keeps its place, and so its number, for good; what rules and probes
ask of it later (settings, parameters, facts) is answered by what remains of it.
"""

import functools
import numbers
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Generic, TypeVar

import torch

from ftlab.probes.plain import readable
from ftlab.records.handle import when_gone

Remains = TypeVar("Remains")

_Kind = tuple[torch.Size, torch.dtype]


class Met(Generic[Remains]):
    """Objects in the order in which they were met, held weakly.

    Examples
    --------
    >>> from ftlab.probes.optimizer.remains import Met
    >>> class Scheduler: ...
    >>> met, first, second = Met[str](), Scheduler(), Scheduler()
    >>> met.add(first, "the first"), met.add(second, "the second")
    (0, 1)
    >>> del first
    >>> met.now() == ("the first", second), met.number(second)
    (True, 1)
    """

    def __init__(self) -> None:
        self._places: list[tuple[Callable[[], Any], Remains]] = []

    def __len__(self) -> int:
        return len(self._places)

    def add(
        self, new: Any, remains: Remains, settle: Callable[[], None] | None = None
    ) -> int:
        """Return the number of a new object; ``settle`` is called when it is gone."""
        try:
            reference = when_gone(new, settle or bool)
        except TypeError:  # of a class with __slots__
            reference = functools.partial(_itself, new)
        self._places.append((reference, remains))
        return len(self._places) - 1

    def number(self, each: Any) -> int | None:
        """Return the number of what was met, by identity; ``None`` of a stranger."""
        for number, (reference, _) in enumerate(self._places):
            if reference() is each:
                return number
        return None

    def now(self) -> tuple[Any, ...]:
        """List what is there, and what remains of all else, by number."""
        pairs = [(reference(), remains) for reference, remains in self._places]
        return tuple([rest if each is None else each for each, rest in pairs])

    def alive(self) -> list[tuple[int, Any, Remains]]:
        """List what is there, with its number and what will remain of it."""
        found = enumerate(self._places)
        return [(n, e, rest) for n, (of, rest) in found if (e := of()) is not None]


class GoneOptimizer:
    """What remains of an optimizer: its class, its settings and what it held.

    While the optimizer lives its groups are followed: they hold nothing of its state.

    Attributes
    ----------
    kind
        Its class.
    misfits
        What facts have said last of its state.
    """

    def __init__(self, optimizer: Any) -> None:
        self.kind = type(optimizer)
        known = readable(
            defaults=lambda: _settings(optimizer.defaults),
            groups=lambda: list(optimizer.param_groups),
        )
        self.defaults: dict[str, Any] = known.get("defaults", {})
        self.state: dict[Any, Any] = {}
        self.misfits: list[str] = []
        self._groups: list[dict[str, Any]] = known.get("groups", [])
        self._gone = False

    def follow(self, optimizer: Any) -> None:
        """Look where the groups are: loading a state puts others in their place."""
        self._groups = optimizer.param_groups

    def settle(self) -> None:
        """Let go of the groups: the optimizer is gone."""
        if not self._gone:
            self._groups = [
                _settings(group) | {"params": HeldWeakly(group["params"])}
                for group in self._groups
            ]
            self._gone = True

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """The groups as they were last."""
        self.settle()
        return list(self._groups)


class GoneScheduler:
    """What remains of a scheduler.

    Attributes
    ----------
    facts
        What was read of it last.
    """

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self.facts = dict(facts)


class HeldWeakly(Collection[torch.Tensor]):
    """Tensors that this keeps from nothing.

    One without data, of the same shape and dtype, stands for each that is gone.
    """

    _kinds_seen: dict[_Kind, _Kind] = {}  # noqa: RUF012  shared: there are few

    def __init__(self, tensors: Collection[torch.Tensor]) -> None:
        self._references: list[Callable[[], torch.Tensor | None]]
        self._references = [weakref.ref(each) for each in tensors]
        kinds = [(each.shape, each.dtype) for each in tensors]
        self._kinds = [self._kinds_seen.setdefault(kind, kind) for kind in kinds]

    def __len__(self) -> int:
        return len(self._references)

    def __contains__(self, other: object) -> bool:
        return any(each is other for each in self)

    def __iter__(self) -> Iterator[torch.Tensor]:
        for place, (shape, dtype) in enumerate(self._kinds):
            tensor = self._references[place]()
            if tensor is None:
                tensor = torch.empty(shape, dtype=dtype, device="meta")
                self._references[place] = functools.partial(_itself, tensor)
            yield tensor


def kind_of(optimizer: Any) -> type:
    """Return the class of an optimizer, or the one that it had."""
    return optimizer.kind if isinstance(optimizer, GoneOptimizer) else type(optimizer)


def _settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """Keep what is plain: anything else may hold anything."""
    return {name: value for name, value in values.items() if _is_plain(value)}


def _is_plain(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return value.numel() == 1  # a rate that is kept on a device
    if isinstance(value, tuple | list):
        return all(isinstance(each, numbers.Number) for each in value)
    return value is None or isinstance(value, numbers.Number | str)


def _itself(value: Any) -> Any:
    return value
