"""How a case is built: seed, model family, names, sizes and the style of its loop.

A rule must find a fault by its class. So every case can be built in many ways that do
not matter to the fault, and `builders.tiny` reads here which one is asked for.
"""

import contextlib
import contextvars
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Family = Literal["llama", "gpt2", "neox", "own"]
Loop = Literal["plain", "zero-after", "accumulate"]


@dataclass(frozen=True, slots=True)
class Variation:
    """One way to build cases.

    Attributes
    ----------
    seed
        Added to every seed of models, adapters and batches.
    family
        The model: a Llama, a GPT-2 (one fused projection, its weight transposed), a
        GPT-NeoX (fused and not transposed) or a model of one's own, whose modules are
        called like nothing in transformers.
    adapter
        Name of the PEFT adapter.
    width, depth, rank
        Hidden size (a multiple of 16), number of blocks and rank of the adapter.
    loop
        Where ``zero_grad`` stands, and whether two micro-batches make one step.
    """

    seed: int = 0
    family: Family = "llama"
    adapter: str = "default"
    width: int = 64
    depth: int = 2
    rank: int = 8
    loop: Loop = "plain"


PLAIN = Variation()
"""The way in which cases are built unless another one is asked for."""

_current = contextvars.ContextVar("variation", default=PLAIN)


def current() -> Variation:
    """Return the variation that cases are built in now."""
    return _current.get()


@contextlib.contextmanager
def varied(variation: Variation) -> Iterator[None]:
    """Build cases in this variation for the length of the block.

    Examples
    --------
    >>> from ftlab.faults.variation import Variation, current, varied
    >>> with varied(Variation(family="gpt2")):
    ...     current().family
    'gpt2'
    """
    token = _current.set(variation)
    try:
        yield
    finally:
        _current.reset(token)
