"""What a rule found, and what it could not check."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal, get_args

from ftlab.records.name_words import in_words

PlaceKind = Literal[
    "param",
    "module",
    "op",
    "call",
    "config",
    "optimizer",
    "step",
    "sample",
    "token",
    "file",
    "object",
    "data",
    "rank",
]
PLACE_KINDS: tuple[str, ...] = get_args(PlaceKind)
"""The kinds a place can have; fixed by schema 1 of the run log."""


class Severity(enum.IntEnum):
    """How much a finding matters; comparable, ``INFO < WARNING < ERROR``."""

    INFO = 0
    WARNING = 1
    ERROR = 2

    @property
    def label(self) -> str:
        """The lower-case word used in logs and tables."""
        return self.name.lower()

    @classmethod
    def parse(cls, label: str) -> "Severity":
        """Return the severity that ``label`` names."""
        return cls[label.upper()]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a finding stands: a kind from `PLACE_KINDS` and an exact name."""

    kind: PlaceKind
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


SHOWN = 3
"""Places that the text of a finding shows; `Finding.places` has all."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A proven statement about a run.

    Attributes
    ----------
    code, name
        The rule: ``"GRD001"`` and ``"vanishing-gradient"``.
    message
        One line that carries step and numbers.
    places
        Exact places, the one to look at first in front.
    first_step, last_step
        First and last step at which the evidence was seen.
    evidence
        What was measured, by name; ``threshold`` holds what it was compared with.
    healthy
        What a healthy run shows instead.
    follows
        Code of the finding that this one follows from; ``""`` when it stands alone.
    """

    code: str
    name: str
    severity: Severity
    message: str
    cause: str
    fix: str
    places: tuple[Place, ...]
    first_step: int
    last_step: int
    evidence: Mapping[str, float | int | str] = field(default_factory=dict)
    healthy: str = ""
    rank: int = 0
    follows: str = ""

    def __repr__(self) -> str:
        values = [f"{each.name}={self._shown(each.name)}" for each in fields(self)]
        return f"{type(self).__name__}({', '.join(values)})"

    def _shown(self, name: str) -> str:
        """Show a value; of many places, as a dataset has them, the first ones."""
        value = getattr(self, name)
        if name != "places" or len(value) <= SHOWN:
            return repr(value)
        first = ", ".join(map(repr, value[:SHOWN]))
        return f"({first}, ... {len(value) - SHOWN:,} more)"

    @property
    def place(self) -> Place:
        """The place to look at first."""
        return self.places[0]

    @property
    def where(self) -> str:
        """The places in words, briefly: the exact names are in `places`."""
        kinds = dict.fromkeys(place.kind for place in self.places)
        words = []
        for kind in kinds:
            names = [place.name for place in self.places if place.kind == kind]
            said = in_words(names, shown=3)
            words.append(said if said.startswith(f"{kind} ") else f"{kind} {said}")
        return ", ".join(words)

    @property
    def key(self) -> tuple[str, Place, int]:
        """Two findings with one key are the same finding seen again."""
        return (self.code, self.place, self.rank)


@dataclass(frozen=True, slots=True)
class NotChecked:
    """A rule that could not decide.

    Attributes
    ----------
    reason
        What is missing.
    record
        What to record next time, as a call or option the user can type.
    """

    code: str
    name: str
    reason: str
    record: str
