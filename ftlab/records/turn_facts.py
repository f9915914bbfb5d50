"""Who speaks where in the samples of a batch, and how much of it is trained."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """A part of a turn; see `ftlab.records.token_row.Turn`.

    Attributes
    ----------
    start, end
        Positions in the row.
    trained
        How many of them have a label that counts.
    first
        The first of those; -1 where there is none.
    reasoning
        Whether it is a text that holds the end of a reasoning, as the template writes
        it, and a reasoning before that.
    """

    start: int
    end: int
    role: str
    part: str
    trained: int
    first: int
    reasoning: bool = False


@dataclass(frozen=True, slots=True)
class SampleTurns:
    """The turns of one sample.

    Attributes
    ----------
    row, micro_batch, start, end
        As in `ftlab.records.sample_facts.SampleFacts`.
    trained
        Positions of the sample whose label counts.
    labelled
        Whether the batch has labels.
    """

    row: int
    micro_batch: int
    start: int
    end: int
    labelled: bool
    trained: int
    turns: tuple[TurnFacts, ...]

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, read: Mapping[str, Any]) -> "SampleTurns":
        """Return the turns that `as_json` wrote.

        Examples
        --------
        >>> from ftlab.records.turn_facts import SampleTurns, TurnFacts
        >>> turns = (TurnFacts(1, 3, "user", "text", 0, -1),)
        >>> sample = SampleTurns(0, 0, 0, 4, True, 1, turns)
        >>> SampleTurns.from_json(sample.as_json()) == sample
        True
        """
        turns = tuple(TurnFacts(**each) for each in read["turns"])
        return cls(**{**read, "turns": turns})
