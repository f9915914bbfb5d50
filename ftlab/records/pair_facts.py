"""Pairs of rows in the batches of preference training, and which of them are equal."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class EqualPair:
    """Two rows with the same tokens.

    Attributes
    ----------
    row, micro_batch
        Where the first one was in the step.
    other, other_micro_batch
        Where the second one was.
    length
        Tokens of each, padding left out.
    last
        The id of their last token.
    """

    row: int
    micro_batch: int
    other: int
    other_micro_batch: int
    length: int
    last: int


@dataclass(frozen=True, slots=True)
class SeenPairs:
    """What was seen of pairs up to a step, for one way of laying them.

    Attributes
    ----------
    form
        ``"halves"`` of a batch, ``"neighbours"`` in it, or ``"forwards"`` in turn.
    pairs, equal
        How many pairs were compared, and had the same tokens, up to this step.
    alike
        How many had the same beginning and another end.
    longest
        Tokens of the longest row of them.
    whole_steps
        Steps in which all pairs were equal.
    some
        The first equal pairs of this step.
    """

    form: str
    pairs: int
    equal: int
    alike: int
    longest: int
    whole_steps: int
    some: tuple[EqualPair, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, read: Mapping[str, Any]) -> "SeenPairs":
        """Return the pairs that `as_json` wrote.

        Examples
        --------
        >>> from ftlab.records.pair_facts import EqualPair, SeenPairs
        >>> seen = SeenPairs("halves", 4, 1, 3, 20, 0, (EqualPair(0, 0, 4, 0, 9, 2),))
        >>> SeenPairs.from_json(seen.as_json()) == seen
        True
        """
        some = tuple(EqualPair(**each) for each in read["some"])
        return cls(**{**read, "some": some})
