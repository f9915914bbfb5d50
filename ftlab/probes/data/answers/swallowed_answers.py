"""Messages whose answer stands in their reasoning, or was never come to."""

from collections.abc import Iterator, Mapping
from typing import Any

from ftlab.probes.data.answers.answer_faults import is_answer
from ftlab.probes.data.answers.rejected import SIDE
from ftlab.probes.data.rows.parts import Part, RowFault, RowParts
from ftlab.probes.data.rows.roles import ROLES
from ftlab.probes.data.rows.row_access import messages_in

REASONING = ("reasoning_content", "reasoning", "thinking")
"""Keys of a message that hold its reasoning."""

_BESIDE = frozenset(
    {"role", "content", "from", "value", "name", "id", "weight", "train", "index"}
    | {"model", "finish_reason", "created", "timestamp", "tokens", *REASONING}
)
"""Keys of a message that say nothing in place of its content."""


def swallowed_answers(row: Mapping[str, Any], read: RowParts) -> Iterator[RowFault]:
    """Yield the first answer that says nothing, while its reasoning does.

    What is followed by a call, a result or more of the answer has an answer there.

    Examples
    --------
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> from ftlab.probes.data.answers.swallowed_answers import swallowed_answers
    >>> said = {"role": "assistant", "content": "", "reasoning": "It is 5."}
    >>> row = {"messages": [{"role": "user", "content": "2+3?"}, said]}
    >>> [name for name, *_ in swallowed_answers(row, parts_of(row))]
    ['answer-in-reasoning']
    """
    if read.label is False:
        return
    for at, part in enumerate(read.parts):
        if not _is_blank_answer(part) or _goes_on(read.parts[at + 1 :], part):
            continue
        message = messages_in(row, part.column)[part.message]
        if name := _only_thinks(message):
            says = f"nothing, and {len(message[name]):,} characters of {name}"
            yield "answer-in-reasoning", part.where, says
            return


def _is_blank_answer(part: Part) -> bool:
    """Tell whether a message says nothing, and holds something beside its text."""
    said = part.says_more and part.message >= 0 and not part.text.strip()
    return said and is_answer(part) and part.column != SIDE


def _goes_on(behind: tuple[Part, ...], part: Part) -> bool:
    """Tell whether no user speaks next, nor is it the end."""
    if not behind or behind[0].column != part.column:
        return False
    return ROLES.get(behind[0].role) != "u"


def _only_thinks(message: Mapping[str, Any]) -> str:
    """Return the key of a message's reasoning; ``""`` where it says more, or less."""
    if any(message[key] for key in message.keys() - _BESIDE):
        return ""
    content = message.get("content")
    if content and not isinstance(content, str):
        return ""  # a picture, a call
    held = (key for key in REASONING if isinstance(message.get(key), str))
    return next((key for key in held if message[key].strip()), "")
