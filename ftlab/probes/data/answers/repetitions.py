"""Answers of a conversation that are the answer before, word for word."""

import re
from collections.abc import Iterator

from ftlab.probes.data.rows.parts import Part, RowParts
from ftlab.probes.data.rows.roles import ROLES
from ftlab.probes.data.texts.text_faults import TextFault

SHORTEST = 80
"""Characters from which on an answer is no phrase, as thanks and refusals are."""

_AGAIN = re.compile(
    r"\bagain\b|\brepeat|\bonce more\b|\bsame\b|\bsay that\b|pardon\b|\bretry\b",
    re.IGNORECASE,
)
"""A question with one of these wants what was said."""


def said_again(row: RowParts) -> Iterator[tuple[Part, TextFault]]:
    """Yield the first answer that repeats the one before it to another question.

    Examples
    --------
    >>> from ftlab.probes.data.answers.repetitions import said_again
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> said = (
    ...     "The bridge was built of stone in 1893, after the flood, by the town. " * 2
    ... )
    >>> talk = [("user", "When?"), ("assistant", said), ("user", "Who?")]
    >>> talk = [{"role": role, "content": text} for role, text in talk]
    >>> talk.append({"role": "assistant", "content": said})
    >>> found = said_again(parts_of({"messages": talk}))
    >>> [(part.where, fault.name) for part, fault in found]
    [('messages[3].content', 'answer-said-again')]
    """
    asked = before = answered = ""
    for part in row.parts:
        role = ROLES.get(part.role)
        if role == "u":
            asked = part.text
        elif role == "a":
            again = part.text == before and len(part.text) >= SHORTEST
            if again and asked != answered and not _AGAIN.search(asked):
                yield part, TextFault("answer-said-again", 0, "as the answer before")
                return
            before, answered = part.text, asked
