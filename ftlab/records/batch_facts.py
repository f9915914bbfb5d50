"""What is odd about a batch: found on its device, told when it has arrived."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

OddKind = Literal[
    "ids",
    "labels",
    "ignored",
    "non-finite",
    "constant",
    "off-scale",
    "dtype",
    "shape",
    "repeated",
]
KINDS: tuple[str, ...] = get_args(OddKind)
"""Ids or labels that nothing stands for, labels of which none counts, numbers that no
network can read, tensors that do not fit, batches that come once for each worker."""


@dataclass(frozen=True, slots=True)
class Oddity:
    """One odd thing about one field of one micro-batch.

    Attributes
    ----------
    field
        The name of the argument, such as ``"input_ids"``.
    micro_batch, row, position
        The first place; -1 where it has none.
    rows
        How many rows are concerned.
    value
        What stands there; in words where it is no number.
    limit
        What it should be below, or be: the rows of the embedding, a dtype, a shape.
    piece
        The token, as the tokenizer writes it.
    """

    kind: str
    field: str
    micro_batch: int
    row: int = -1
    position: int = -1
    rows: int = 0
    value: float | str = 0
    limit: float | str = 0
    piece: str = ""


@dataclass(frozen=True, slots=True)
class SeenBatches:
    """What was odd in one step.

    Attributes
    ----------
    step
        The step that the batch was for.
    oddities
        Of all micro-batches that were told together.
    unfinished
        Whether this was told before the step was over: it may never be.
    """

    step: int
    oddities: tuple[Oddity, ...] = ()
    unfinished: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return {
            "step": self.step,
            "oddities": [asdict(each) for each in self.oddities],
            "unfinished": self.unfinished,
        }

    @classmethod
    def from_json(cls, read: Mapping[str, Any]) -> "SeenBatches":
        """Return what `as_json` wrote.

        Examples
        --------
        >>> from ftlab.records.batch_facts import Oddity, SeenBatches
        >>> seen = SeenBatches(3, (Oddity("ids", "input_ids", 0, 1, 4, 1, 130, 128),))
        >>> SeenBatches.from_json(seen.as_json()) == seen
        True
        """
        odd: Sequence[Mapping[str, Any]] = read["oddities"]
        oddities = tuple(Oddity(**each) for each in odd)
        return cls(read["step"], oddities, read["unfinished"])
