"""The texts of a row, and what else was read of it."""

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

ROLES = {
    **dict.fromkeys(("system", "developer"), "s"),
    **dict.fromkeys(("user", "human"), "u"),
    **dict.fromkeys(("assistant", "model", "bot", "gpt", "chatgpt"), "a"),
    **dict.fromkeys(("function_call", "tool_call"), "c"),
    **dict.fromkeys(("tool", "function", "ipython", "observation"), "t"),
    **dict.fromkeys(("tool_response", "function_response"), "t"),
}
"""Letters for the roles that are known: system, user, answer, call, result."""

REJECTED = "rejected"
"""The column of answers that nobody is to learn."""

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


class TextFault(NamedTuple):
    """A fault of a text: its kind, the character, and what is there."""

    name: str
    char: int
    says: str


Placed = tuple[Part, TextFault]


def is_answer(part: Part) -> bool:
    """Tell whether a text is one that is to be learnt."""
    return ROLES.get(part.role) == "a"


@dataclass(slots=True)
class RowParts:
    """What a row says, read by its format.

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
    label: Any = None
    judged: bool = False
    others: list[tuple[str, Any]] | None = None
    _answers: list[Part] | None = field(default=None, init=False, compare=False)

    @property
    def answers(self) -> list[Part]:
        """The texts that are to be learnt."""
        if self._answers is None:
            self._answers = [p for p in self.parts if is_answer(p)]
        return self._answers

    @property
    def last_wanted(self) -> int:
        """The place of the last text that is not of a rejected side."""
        at = len(self.parts) - 1
        while at > 0 and self.parts[at].column == REJECTED:
            at -= 1
        return at

    def is_rejected(self, part: Part) -> bool:
        """Tell whether a text is not to be learnt: its faults may be the reason."""
        return part.column == REJECTED or (self.label is False and is_answer(part))

    def asks_about(self, words: re.Pattern[str]) -> bool:
        """Tell whether what is asked, or said before it, holds some words.

        Examples
        --------
        >>> import re
        >>> from ftlab.probes.data.rows.formats import parts_of
        >>> row = parts_of({"prompt": "Why?", "completion": "Ask how."})
        >>> row.asks_about(re.compile("Why")), row.asks_about(re.compile("how"))
        (True, False)
        """
        return any(words.search(p.text) for p in self.parts if not is_answer(p))
