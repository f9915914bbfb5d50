"""Generators of random numbers that a dataset and a collator have for themselves.

Found by looking into their attributes and into what these hold: a transform, the
dataset within a `Subset`, the stages of a stream; and at the globals and enclosed
variables that their methods name. Nothing is called, so that no property of the user's
runs.
"""

import contextlib
import logging
import random
import zlib
from collections.abc import Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import torch

from ftlab.probes.seeds.known_seeds import (
    global_numpy,
    global_python,
    numpy_seed,
    python_seed,
)
from ftlab.records.loader_start import SYSTEM, HeldGenerator

OBJECTS, DEPTH, ENTRIES = 256, 8, 32
"""Objects that are looked into, how deep, and entries of a list or mapping."""

_KEPT = (1 << 24) - 1

_Found = tuple[str, Any]


def held_generators(*owners: Any) -> tuple[HeldGenerator, ...]:
    """Return the generators that objects hold, with what they began with.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.probes.seeds.held_generators import held_generators
    >>> class Rows:
    ...     def __init__(self):
    ...         self.rng = np.random.default_rng(7)
    >>> (held,) = held_generators(Rows())
    >>> held.name, held.kind, held.seed
    ('Rows.rng', 'NumPy', 7)
    """
    return tuple(
        HeldGenerator(name, kind, seed, held_state(each))
        for name, each in generators_in(*owners)
        for kind, seed in [_origin(each)]
    )


def held_states(*owners: Any) -> dict[str, float]:
    """Return a digest of each generator that objects hold, by name."""
    return {name: held_state(each) for name, each in generators_in(*owners)}


def generators_in(*owners: Any) -> Iterator[_Found]:
    """Yield the generators within objects, breadth first, each once."""
    known = {*map(id, owners), *map(id, _everybody())}
    level: list[_Found] = [(_name_of(owner), owner) for owner in owners]
    for _ in range(DEPTH):
        inner: list[_Found] = []
        for path, each in level:
            for name, value in _entries(each):
                leaf = isinstance(value, _LEAVES)
                if leaf or id(value) in known or len(known) > OBJECTS:
                    continue
                full = f"{path}.{name}"
                known.add(id(value))
                if _is_one(value):
                    yield full, value
                else:
                    inner.append((full, value))
        level = inner


def _name_of(owner: Any) -> str:
    named = owner if isinstance(owner, FunctionType) else type(owner)
    return str(named.__qualname__)


def held_state(generator: Any) -> float:
    """Return a digest of a generator's state, 24 bits; 0 for one that has none."""
    if isinstance(generator, random.SystemRandom):
        return 0.0
    if isinstance(generator, torch.Generator):
        read = generator.get_state().numpy().tobytes()
    elif isinstance(generator, random.Random):
        read = repr(generator.getstate()).encode()
    elif isinstance(generator, np.random.RandomState):
        read = repr(_plain(generator.get_state(legacy=False))).encode()
    else:
        read = repr(_plain(generator.bit_generator.state)).encode()
    return float(zlib.crc32(read) & _KEPT)


_KINDS = (random.Random, np.random.Generator, np.random.RandomState, torch.Generator)

_LEAVES = (
    str,
    bytes,
    int,
    float,
    type,
    ModuleType,
    torch.Tensor,
    np.ndarray,
    torch.nn.Module,
    logging.Logger,  # it leads to all others
)


def _everybody() -> tuple[Any, ...]:
    """Return the global generators, which are followed step by step."""
    return global_numpy(), global_python(), torch.default_generator


def _entries(owner: Any) -> Iterator[_Found]:
    if isinstance(owner, FunctionType):
        yield from _named_in(owner)
    elif isinstance(owner, list | tuple):
        yield from ((f"{at}", each) for at, each in enumerate(owner[:ENTRIES]))
    elif type(owner) is dict:
        yield from ((str(k), v) for k, v in [*owner.items()][:ENTRIES])
    else:
        yield from getattr(owner, "__dict__", {}).items()
        for method in vars(type(owner)).values():
            if isinstance(method, FunctionType):
                yield from (each for each in _named_in(method) if _is_one(each[1]))


def _named_in(function: FunctionType) -> Iterator[_Found]:
    """Yield what a function finds outside: generators of its module, and its cells."""
    known, code = function.__globals__, function.__code__
    yield from (
        (name, known[name]) for name in code.co_names if _is_one(known.get(name))
    )
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        with contextlib.suppress(ValueError):  # a cell that is still empty
            yield name, cell.cell_contents


def _is_one(value: Any) -> bool:
    return isinstance(value, _KINDS)


def _origin(generator: Any) -> tuple[str, int | None]:
    if isinstance(generator, torch.Generator):
        return "torch", generator.initial_seed()
    if isinstance(generator, random.SystemRandom):
        return SYSTEM, None
    if isinstance(generator, random.Random):
        return "Python", python_seed(generator)
    if isinstance(generator, np.random.RandomState):
        return "NumPy", numpy_seed(generator)
    entropy = getattr(generator.bit_generator.seed_seq, "entropy", None)
    return "NumPy", entropy if isinstance(entropy, int) else None


def _plain(state: Any) -> Any:
    if isinstance(state, Mapping):
        return {name: _plain(value) for name, value in state.items()}
    return state.tobytes() if isinstance(state, np.ndarray) else state
