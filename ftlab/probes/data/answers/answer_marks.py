"""Marks of speakers in answers: one that was left before it, and turns behind it."""

import re
from collections.abc import Iterator, Set as AbstractSet

from ftlab.probes.data.answers.answer_faults import Placed
from ftlab.probes.data.rows.parts import RowParts
from ftlab.probes.data.rows.roles import ROLES
from ftlab.probes.data.texts.text_faults import TextFault

FIRST, SHORTEST = 24, 20
"""Characters that hold a mark before an answer, and that an answer has behind it."""

WRITTEN = "### Response:"
"""A mark that nothing but a prompt is written with."""

_BEFORE = re.compile(
    r"\s*((?:#{2,4} ?|\*\*)?(Assistant|AI|Bot|ChatGPT|Response|Answer) ?:(?:\*\*)?)\s+"
    r"(?=\S)"
)
_NAMES = frozenset({"AI", "Bot", "ChatGPT"})
"""Marks that are names: a prompt that holds one may be answered so."""

_RECORD = re.compile(r"\n[ \t]*(?:#{1,6} |\*{0,2}[A-Z][\w ]{0,24}:(?:\s|\*))")
"""Lines of a record, of a talk or of a chapter: where more follow, the first is one."""

TURNS = ("User", "Human", "### Inst")
"""How a user's turn begins; what else may stand there is in `_USER`."""

_USER = re.compile(
    r"\n[ \t]*((?:#{2,4} ?|\*\*)?(?:User|Human) ?:(?:\*\*)?|### Instruction:)\s*\S"
)
_ASSISTANT = re.compile(
    r"\n[ \t]*(?:(?:#{2,4} ?|\*\*)?(?:Assistant|AI|Bot|ChatGPT|GPT|Model) ?:(?:\*\*)?"
    r"|### Response:)\s*\S"
)
_TALK = re.compile(
    r"dialog|conversation|\bchat|\bbot\b|script|transcript|interview|role-?play"
    r"|\bprompt|few-?shot|template|assistant|\bprefix|user:|human:|### instruction",
    re.IGNORECASE,
)
"""A prompt with one of these may be answered by a talk."""


def answer_marks(row: RowParts, words: AbstractSet[str]) -> Iterator[Placed]:
    r"""Yield the marks of speakers that stand in a row's answers.

    Parameters
    ----------
    words
        Which of `TURNS` stand in the row.

    Examples
    --------
    >>> from ftlab.probes.data.answers.answer_marks import answer_marks
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> said = "It is so.\n\nUser: And that?\nAssistant: That too."
    >>> row = parts_of({"prompt": "Why?", "completion": said})
    >>> [(fault.name, fault.char) for _, fault in answer_marks(row, {"User"})]
    [('next-turn-in-answer', 11)]
    """
    turns = not words.isdisjoint(TURNS)
    for part in row.answers:
        text = part.text
        if ":" in text[:FIRST] and (fault := _before(text, row)):
            yield part, fault
        if turns and "\n" in text and (fault := _next_turn(text, row)):
            yield part, fault


def _before(text: str, row: RowParts) -> TextFault | None:
    found = _BEFORE.match(text)
    if found is None:
        return None
    mark, name = found.groups()
    if mark != WRITTEN and _is_meant(text, found.end(), name, row):
        return None
    return TextFault("mark-before-answer", found.start(1), f"begins with {mark!r}")


def _is_meant(text: str, end: int, name: str, row: RowParts) -> bool:
    """Tell whether an answer has a reason to begin with the name of one."""
    if len(text) - end < SHORTEST or _RECORD.search(text, end):
        return True
    named = rf"\b{name}\b" if name in _NAMES else rf"\b{name}\b\W{{0,4}}:|['\"`*]{name}"
    return any(
        re.search(named, said, re.IGNORECASE) or _TALK.search(said)
        for said in _asked(row)
    )


def _asked(row: RowParts) -> list[str]:
    """Return what users say: system messages speak of an assistant anyway."""
    return [part.text for part in row.parts if ROLES.get(part.role) == "u"]


def _next_turn(text: str, row: RowParts) -> TextFault | None:
    found = _USER.search(text)
    if found is None or _ASSISTANT.search(text, found.end()) is None:
        return None
    before = text[: found.start()].rstrip()
    introduced = not before or before.endswith(":") or before.count("```") % 2
    if introduced or _ASSISTANT.search(f"\n{before}"):
        return None
    if any(map(_TALK.search, _asked(row))):
        return None
    says = f"goes on with {found.group(1)!r}"
    return TextFault("next-turn-in-answer", found.start(1), says)
