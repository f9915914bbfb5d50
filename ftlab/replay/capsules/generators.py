"""Random generators of the user's own, which a step draws from."""

import random
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from ftlab.replay.capsules.outside import from_outside

_WAYS: tuple[tuple[type, Callable[[Any], Any], Callable[[Any, Any], None]], ...] = (
    (torch.Generator, lambda g: g.get_state(), lambda g, s: g.set_state(s)),
    (random.Random, lambda g: g.getstate(), lambda g, s: g.setstate(s)),
    (np.random.RandomState, lambda g: g.get_state(), lambda g, s: g.set_state(s)),
    (
        np.random.Generator,
        lambda g: g.bit_generator.state,
        lambda g, s: setattr(g.bit_generator, "state", s),
    ),
)


def own_generators(function: Callable[..., Any]) -> list[Any]:
    """List the generators that ``function`` finds by name, each once.

    Those within an object that it finds count too, ``self.generator`` and that of a
    `DataLoader` for example; those further inside are not found.

    Examples
    --------
    >>> import random
    >>> from ftlab.replay.capsules.generators import own_generators
    >>> mine = random.Random(0)
    >>> own_generators(lambda batch: mine.random() * batch) == [mine]
    True
    """
    found: dict[int, Any] = {}
    for _, value in from_outside(function):
        found |= {id(each): each for each in _within(value) if _way(each) is not None}
    return list(found.values())


class KeptGenerators:
    """The states of generators at the start of a step."""

    def __init__(self, generators: Iterable[Any]) -> None:
        self._kept = [
            (generator, write, read(generator))
            for generator in generators
            for _, read, write in [_way(generator) or _WAYS[0]]
        ]

    @property
    def states(self) -> list[tuple[str, Any]]:
        """The class and the state of each generator."""
        return [(type(each).__name__, state) for each, _, state in self._kept]

    def put(self, states: list[tuple[str, Any]]) -> bool:
        """Give the generators other states, if they are of the same classes."""
        if [kind for kind, _ in states] != [kind for kind, _ in self.states]:
            return False
        for (generator, write, _), (_, state) in zip(self._kept, states, strict=True):
            write(generator, state)
        return True

    def restore(self) -> None:
        """Put all of them back where they were."""
        for generator, write, state in self._kept:
            write(generator, state)


def _way(value: Any) -> Any:
    return next((way for way in _WAYS if isinstance(value, way[0])), None)


def _within(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, ModuleType | FunctionType | type):
        return
    for inner in (value, *getattr(value, "__dict__", {}).values()):
        yield inner
        if isinstance(inner, DataLoader):
            yield inner.generator
            yield getattr(inner.sampler, "generator", None)
