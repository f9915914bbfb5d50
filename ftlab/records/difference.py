"""What two executions differ in: plain values, for views and findings."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Born:
    """A place where a difference is born: from equal inputs, two results.

    Attributes
    ----------
    module
        Whose code makes it.
    phase
        ``"forward"`` or ``"backward"``.
    tensor
        What differs, in words: ``"what it returns"``.
    ratio
        Largest distance of a token over its noise floor.
    relative
        That distance over the size of the token's values.
    tokens
        Rows and positions beyond the floor, of side b, shape (tokens, 2).
    ops, lines
        The operation of either side that first makes something else, and its source
        line; ``""`` where a side has none, or none was found.
    also
        Modules of other blocks in which the same differs.
    weights
        Parameters and buffers of the module that differ.
    changes
        Whether the outcome changes when this tensor alone is put right; ``None`` where
        that was not tried.
    """

    module: str
    phase: Literal["forward", "backward"]
    tensor: str
    ratio: float
    relative: float
    tokens: NDArray[np.int64]
    ops: tuple[str, str] = ("", "")
    lines: tuple[str, str] = ("", "")
    also: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    changes: bool | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One tensor of both executions.

    Attributes
    ----------
    module, call, kind, path, phase
        Where it stands.
    born
        Its distance over the floor when both sides are given the same; NaN where not
        measured.
    carried
        Its distance over the floor when each side goes its own way.
    relative
        The latter distance over its size.
    """

    module: str
    call: int
    kind: str
    path: str
    phase: str
    born: float
    carried: float
    relative: float


@dataclass(frozen=True, slots=True)
class Differences:
    """Two executions, compared.

    Attributes
    ----------
    sides
        What the two are, in words.
    rows
        All tensors that both have, in order.
    born
        Where differences are born, in order of execution; those without consequence
        last.
    outcome
        Distance of the outputs over their floor, the largest of all tokens.
    equal
        Whether the two differ by no more than rounding.
    rest
        Relative distance of the outputs in float64 when all that is born in forward is
        put right; next to 0 where this explains all. NaN where not tried.
    modules, heat
        Modules in order, and their outputs' distance over the floor by token of side b,
        shape (modules, tokens); NaN where a module returns nothing by token.
    tokens
        Row and position of each token, of side b, shape (tokens, 2).
    kl
        KL divergence of the next-token distributions by token, in nats; empty without
        logits.
    greedy
        Index into `tokens` of the first whose most likely next token is another; -1.
    alone
        Modules that one side alone has.
    notes
        What could not be compared, and why.
    """

    sides: tuple[str, str]
    rows: tuple[Row, ...] = ()
    born: tuple[Born, ...] = ()
    outcome: float = float("nan")
    equal: bool = True
    rest: float = float("nan")
    modules: tuple[str, ...] = ()
    heat: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))
    tokens: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros((0, 2), np.int64)
    )
    kl: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    greedy: int = -1
    alone: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    notes: tuple[str, ...] = ()
