"""A mark in brackets that stands in texts as common tokens."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class SpelledMark:
    """One string such as ``</s>``, in several samples of a step.

    Attributes
    ----------
    text
        The string.
    samples
        How many samples hold it.
    ends
        How many end with it.
    paired
        Whether one of them also opens what it closes, or closes what it opens, as the
        tags of a page do.
    places
        Of the last one in some samples: micro-batch, row, its first token and the first
        one behind it.
    """

    text: str
    samples: int
    ends: int
    paired: bool
    places: tuple[tuple[int, int, int, int], ...]

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, read: Mapping[str, Any]) -> "SpelledMark":
        """Return the mark that `as_json` wrote.

        Examples
        --------
        >>> from ftlab.records.spelled_mark import SpelledMark
        >>> mark = SpelledMark("</s>", 4, 4, False, ((0, 1, 7, 10),))
        >>> SpelledMark.from_json(mark.as_json()) == mark
        True
        """
        places = tuple((m, r, s, e) for m, r, s, e in read["places"])
        return cls(**{**read, "places": places})
