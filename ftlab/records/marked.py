"""Something that was looked at, and how it came out."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Marked:
    """One line of a list that is gone through.

    Attributes
    ----------
    state
        A word: ``"there"``, ``"lacks"``, ``"worse"``.
    says
        What was seen, in words.
    numbers
        What was measured.
    """

    name: str
    state: str
    says: str
    numbers: Mapping[str, float | str | None] = field(default_factory=dict)
