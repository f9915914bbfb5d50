"""Who may attend to whom: masks as a model uses them, block by block."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Fault = Literal["padding", "other sample", "future", "missing"]
"""What is wrong with a pair of positions: the query sees padding, another sample or a
token that comes later, or it does not see what its kind of layer should show it."""

FAULTS: tuple[Fault, ...] = ("padding", "other sample", "future", "missing")
ILLEGAL: tuple[Fault, ...] = FAULTS[:3]
"""Those that are seen and must not be."""

PADDING, VIRTUAL = -1, -2
"""Numbers of a document that is none: padding, and the virtual tokens of a prompt."""


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of one row, as the batch itself tells them.

    Attributes
    ----------
    numbers
        int32 per position, from 0; `PADDING` and `VIRTUAL` for what is no document.
    told_by
        ``"position ids"``, ``"cu_seq_lens"``, ``"seq_idx"``, ``"BOS"``, ``"EOS"``;
        ``""`` for one document.
    sure
        Whether they are documents for certain. A BOS or EOS in the middle may as well
        belong to a turn of one conversation.
    """

    numbers: NDArray[np.int32]
    told_by: str = ""
    sure: bool = True

    @property
    def starts(self) -> list[int]:
        """Positions at which documents begin."""
        before = np.concatenate(([PADDING], self.numbers[:-1]))
        return np.flatnonzero((self.numbers >= 0) & (self.numbers != before)).tolist()

    @property
    def count(self) -> int:
        """How many documents there are."""
        return len(np.unique(self.numbers[self.numbers >= 0]))


@dataclass(frozen=True, slots=True)
class Pair:
    """A query and a key: positions in the row, and the pieces of their tokens."""

    query: int
    key: int
    query_piece: str = ""
    key_piece: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class MaskGrid:
    """A mask in cells; each holds shares of its pairs, as bytes: 255 is all of them.

    A share that is not 0 is never written as 0, nor one that is not all as 255.

    Attributes
    ----------
    queries, keys
        First position and the one behind the last.
    cell
        Queries and keys that a cell stands for; those at the ends may hold fewer.
    seen
        Legal pairs that are attended to.
    faults
        By name, for those that occur.
    """

    queries: tuple[int, int]
    keys: tuple[int, int]
    cell: tuple[int, int]
    seen: NDArray[np.uint8]
    faults: dict[Fault, NDArray[np.uint8]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class MaskRow:
    """One row of a batch under one mask.

    Attributes
    ----------
    row
        Number in the batch.
    kind
        Name of a `LayerKind`.
    pairs
        Pairs that the row's real tokens attend to.
    faults
        Pairs by what is wrong with them; ``missing`` ones are not among ``pairs``.
    queries
        Of the real tokens, how many have such a pair.
    first
        The first such pair, by query.
    worst
        The largest share that such pairs have in what one query attends to.
    exact
        Whether each pair was looked at; otherwise all keys of evenly spaced queries.
    sure
        Whether the row's documents are certain; if not, pairs between two of them may
        be right.
    """

    row: int
    kind: str
    pairs: int
    faults: dict[Fault, int]
    queries: dict[Fault, int]
    first: dict[Fault, Pair]
    worst: dict[Fault, float]
    grid: MaskGrid
    exact: bool = True
    sure: bool = True

    def share(self, fault: Fault) -> float:
        """Return what part of the pairs is at fault; for missing ones, of all due."""
        of = self.pairs + (self.faults.get(fault, 0) if fault == "missing" else 0)
        return self.faults.get(fault, 0) / of if of else 0.0

    @property
    def illegal(self) -> float:
        """The share of the pairs that are seen and must not be, for certain."""
        names = [each for each in ILLEGAL if self.sure or each != "other sample"]
        seen = sum(self.faults.get(fault, 0) for fault in names)
        return seen / self.pairs if self.pairs else 0.0


@dataclass(frozen=True, slots=True)
class LayerKind:
    """Layers that attend in the same way.

    Attributes
    ----------
    name
        ``"full"``, ``"sliding"``, ``"chunked"``, ``"bidirectional"``, ``"cross"`` ...
    layers
        Their numbers.
    causal
        Whether a query must not see what comes after it.
    window
        How many keys a query sees at most, itself included; 0 for all.
    read_from
        In words, what the mask was read from.
    """

    name: str
    layers: tuple[int, ...]
    causal: bool
    window: int = 0
    read_from: str = ""


@dataclass(frozen=True, slots=True)
class PaddingPlan:
    """What one way of putting rows together costs.

    Attributes
    ----------
    name
        ``"this batch"``, ``"in this order"``, ``"grouped by length"``,
        ``"to max_length"``, ``"no padding"``.
    tokens
        Positions that the model computes.
    padding
        The share of them that is padding.
    attention
        Pairs of queries and keys, as a multiple of what the documents alone need.
    """

    name: str
    tokens: int
    padding: float
    attention: float


@dataclass(frozen=True, slots=True)
class AttentionReport:
    """What `ftlab.masks` measured of one batch.

    Attributes
    ----------
    model, implementation
        Class of the model, and its attention implementation.
    queries, keys
        Size of the mask.
    documents
        Of each row's keys.
    kinds
        Of the model's layers.
    rows
        One for each row of the batch and kind.
    plans
        Costs of padding.
    remarks
        What is worth saying, in words.
    """

    model: str
    implementation: str
    queries: int
    keys: int
    documents: tuple[Documents, ...]
    kinds: tuple[LayerKind, ...]
    rows: tuple[MaskRow, ...]
    plans: tuple[PaddingPlan, ...] = ()
    remarks: tuple[str, ...] = ()
