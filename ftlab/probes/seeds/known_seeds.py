"""Which seed a generator began with, found again in its state.

Neither Python nor NumPy keeps it. Both are Mersenne Twisters, whose 19,937 bits follow
from the seed and from how often they were turned over since: a seed that leads to the
very same bits is the one. Few are tried: those that torch was given, and usual ones.
"""

import functools
import itertools
import random
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

import numpy as np

TURNS, USUAL_TURNS = 256, 4
"""Times 624 numbers that may have been drawn since: of seeds that are named, and of
usual ones."""

USUAL = (*range(129), 123, 1234, 1337, 2023, 2024, 2025, 3407, 12345)
"""Seeds that people choose."""

_WORDS, _BITS = 624, 32
_WIDEST = 1 << _BITS
"""Seeds that NumPy takes are below."""

State = Hashable


def global_python() -> random.Random:
    """Return the generator behind ``random.random``."""
    return random.random.__self__  # type: ignore[attr-defined]


def global_numpy() -> np.random.RandomState:
    """Return the generator behind ``numpy.random.rand``."""
    return np.random.get_state.__self__  # type: ignore[attr-defined]


def python_seed(generator: random.Random, named: Iterable[int] = ()) -> int | None:
    """Return the seed that a generator of Python began with, where it is found.

    Parameters
    ----------
    named
        Seeds to be tried with patience.

    Examples
    --------
    >>> import random
    >>> from ftlab.probes.seeds.known_seeds import python_seed
    >>> generator = random.Random(7)
    >>> drawn = [generator.random() for _ in range(500)]
    >>> python_seed(generator)
    7
    """
    return _python(generator.getstate()[1][:_WORDS], tuple(named))


def numpy_seed(
    generator: np.random.RandomState, named: Iterable[int] = ()
) -> int | None:
    """Return the seed that a `numpy.random.RandomState` began with, where it is found.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.probes.seeds.known_seeds import numpy_seed
    >>> numpy_seed(np.random.RandomState(7))
    7
    """
    return _numpy(_words(generator), tuple(named))


def _words(generator: np.random.RandomState) -> bytes:
    state: Any = generator.get_state(legacy=False)
    return bytes(state["state"]["key"].tobytes())


@functools.lru_cache(maxsize=16)
def _python(words: tuple[int, ...], named: tuple[int, ...]) -> int | None:
    def states(seed: int) -> Iterator[State]:
        twin = random.Random(seed)
        while True:
            yield twin.getstate()[1][:_WORDS]
            twin.getrandbits(_WORDS * _BITS)

    return _found(words, named, states)


@functools.lru_cache(maxsize=16)
def _numpy(words: bytes, named: tuple[int, ...]) -> int | None:
    twin = np.random.RandomState(0)

    def states(seed: int) -> Iterator[State]:
        twin.seed(seed)
        while True:
            yield _words(twin)
            twin.bytes(_WORDS * _BITS // 8)

    return _found(words, tuple(each % _WIDEST for each in named), states)


def _found(
    words: State, named: Iterable[int], states: Callable[[int], Iterator[State]]
) -> int | None:
    patient = dict.fromkeys(named, TURNS)  # first, and more than the usual ones
    tried = patient | dict.fromkeys(USUAL, USUAL_TURNS) | patient
    return next((s for s, n in tried.items() if words in _first(n, states(s))), None)


def _first(count: int, states: Iterator[State]) -> Iterator[State]:
    return itertools.islice(states, count)
