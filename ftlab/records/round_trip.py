"""What becomes of ids that are written as text and read by their tokenizer again."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """Some rows of a step, there and back.

    Attributes
    ----------
    rows, tokens
        That were read.
    sites
        Places within them at which other ids come back.
    broken
        Rows with many such places; see `ftlab.probes.tokens.round_trips`.
    place
        Micro-batch, row and position of the first of them.
    held, back
        What the tokenizer writes for the ids there, and for those that come back.
    """

    rows: int
    tokens: int
    sites: int = 0
    broken: int = 0
    place: tuple[int, int, int] = (0, 0, 0)
    held: str = ""
    back: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, read: Mapping[str, Any]) -> "RoundTrip":
        """Return the facts that `as_json` wrote.

        Examples
        --------
        >>> from ftlab.records.round_trip import RoundTrip
        >>> facts = RoundTrip(8, 900, 40, 8, (0, 1, 17), "to|ken", "token")
        >>> RoundTrip.from_json(facts.as_json()) == facts
        True
        """
        micro, row, position = read["place"]
        return cls(**{**read, "place": (micro, row, position)})
