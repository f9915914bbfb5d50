"""The texts of a row, and what else was read of it."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ftlab.probes.data.rows.roles import ROLES

RowFault = tuple[str, str, str]
"""Kind of fault (of `ftlab.rules.data`), column, and what is there."""


class Part(NamedTuple):
    """One text of a row.

    Attributes
    ----------
    column, message
        The column, and the number of the message in it; -1 where it is the text itself.
    role
        ``"system"``, ``"user"``, ``"assistant"`` ..., or ``""`` for a text without.
    says_more
        Whether the message holds something beside its text: a call, a picture.
    key
        Of the text in its message.
    """

    column: str
    message: int
    role: str
    text: str
    says_more: bool = False
    key: str = "content"

    @property
    def where(self) -> str:
        """The column as code would reach it."""
        if self.message < 0:
            return self.column
        return f"{self.column}[{self.message}].{self.key}"


@dataclass(slots=True)
class RowParts:
    """What a row says.

    Attributes
    ----------
    kind
        ``"messages"``, ``"preference"``, ``"prompt and answer"``, ``"prompt"``,
        ``"text"``, ``"tokens"``; ``""`` for an unknown one.
    parts
        Its texts in order. The answers of a preference follow the prompt.
    beside
        What else makes the row differ from another with the same texts.
    faults
        What is wrong with its form.
    apart
        Texts that make two rows different ones, however alike the others are.
    label
        What its answer is labelled with: two of these make two rows of equal texts.
    judged
        Whether its answer is judged, so that several to one prompt are meant.
    others
        Columns that are not read, and make it another row.
    """

    kind: str
    parts: tuple[Part, ...] = ()
    beside: Any = None
    faults: tuple[RowFault, ...] = ()
    apart: tuple[str, ...] = ()
    label: Any = None
    judged: bool = False
    others: list[tuple[str, Any]] | None = None
    _answers: list[Part] | None = field(default=None, init=False, compare=False)

    @property
    def answers(self) -> list[Part]:
        """The texts that are to be learnt."""
        if self._answers is None:
            self._answers = [p for p in self.parts if ROLES.get(p.role) == "a"]
        return self._answers
