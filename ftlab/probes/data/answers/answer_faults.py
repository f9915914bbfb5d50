"""What is wrong with the answers of a row: none, cut off, or going on too far."""

import json
import re
from collections.abc import Iterator

from ftlab.probes.data.answers.reasoning import reasoning_fault
from ftlab.probes.data.answers.role_order import order_faults
from ftlab.probes.data.rows.parts import Part, Placed, RowParts, TextFault

SHORTEST = 60
"""Characters from which on an answer that ends oddly is one that breaks off."""

SHORT_LINE = 60
"""Characters of verse and of a letter's closing, which may end with a comma."""

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_OPEN = tuple(",(\u3001\uff0c\uff08[{")
"""What no text ends with."""

_LEADING = frozenset(
    {"the", "and", "because", "although", "whereas", "which"}
    | {"their", "my", "your", "our", "its"}
)
"""Words that no sentence ends with, in English."""

_JSON = re.compile(r"""(?:\{\s*"|\[\s*[\[{"])""")
"""How JSON begins that is more than a number in brackets."""

_MIDDLE = (
    *("<MID>", "<fim_middle>", "<fim-middle>", "<|fim_middle|>"),
    "<\uff5cfim\u2581end\uff5c>",
)
"""Marks of prompts that are answered by what stands between two pieces of a text."""

_BY_NOTHING = re.compile(r"\b(?:nothing|blank|empty)\b", re.IGNORECASE)
"""A prompt with one of these may be answered by nothing."""

_UNSEEN = " \t\r\n\v\f\u200b\u200c\u200d\u2060\ufeff\xa0"

_USER = re.compile(
    r"\n[ \t]*((?:#{2,4} ?|\*\*)?(?:User|Human) ?:(?:\*\*)?|### Instruction:)\s*\S"
)
_ASSISTANT = re.compile(
    r"\n[ \t]*(?:(?:#{2,4} ?|\*\*)?(?:Assistant|AI|Bot|ChatGPT|GPT|Model) ?:(?:\*\*)?"
    r"|### Response:)\s*\S"
)
"""How a user's turn begins, and the next answer."""

_TALK = re.compile(
    r"dialog|conversation|\bchat|\bbot\b|script|interview|role-?play|\bprompt|few-?shot"
    r"|template|assistant|\bprefix|user:|human:|### instruction",
    re.IGNORECASE,
)
"""A prompt with one of these may be answered by a talk."""


def answer_faults(row: RowParts) -> Iterator[Placed]:
    """Yield what is wrong with a row's answers, and with the order of its messages.

    What breaks off or goes on in an answer that is rejected has a reason to be there.

    Examples
    --------
    >>> from ftlab.probes.data.answers.answer_faults import answer_faults
    >>> from ftlab.probes.data.rows.formats import parts_of
    >>> row = parts_of({"prompt": "Say it.", "completion": " "})
    >>> [(part.where, fault.name) for part, fault in answer_faults(row)]
    [('completion', 'empty-answer')]
    """
    for part in row.answers:
        for fault in _faults_of(part, row):
            if fault.name.startswith("empty") or not row.is_rejected(part):
                yield part, fault
    if row.kind == "messages" and row.parts:
        yield from order_faults(row.parts)
    elif row.kind == "text" and not any(part.text.strip() for part in row.parts):
        yield row.parts[0], TextFault("empty-text", -1, "nothing to read")


def _faults_of(part: Part, row: RowParts) -> Iterator[TextFault]:
    text = part.text
    if not text.strip(_UNSEEN):
        if not part.says_more and not row.asks_about(_BY_NOTHING):
            name = "empty-solution" if part.column == "solution" else "empty-answer"
            yield TextFault(name, -1, "nothing but white space" if text else "nothing")
        return
    fault = open_json(text) or (_broken_off(text) if len(text) >= SHORTEST else None)
    if fault is not None and not _is_wanted(fault, row):
        yield fault
    if not part.says_more and (fault := reasoning_fault(text)):
        yield fault
    if ":" in text and "\n" in text and (fault := _next_turn(text, row)):
        yield fault


def _is_wanted(fault: TextFault, row: RowParts) -> bool:
    """Tell whether a prompt ends as its answer does, or asks for a text's middle."""
    asked = [part.text for part in row.parts if part not in row.answers]
    sign = fault.says.rpartition(" ")[2]
    same = len(sign) == 1 and any(text.rstrip().endswith(sign) for text in asked)
    return same or any(mark in text for text in asked for mark in _MIDDLE)


def _broken_off(text: str) -> TextFault | None:
    end = text.rstrip()
    if end.endswith(_OPEN):
        smiley = end.endswith("(") and end[-2:-1] in (":", ";", "=", "-", "'")
        line = end.rpartition("\n")[2]
        listed = end.endswith((",", "\uff0c", "\u3001")) and len(line) <= SHORT_LINE
        if smiley or listed:
            return None
        return TextFault("unfinished-answer", len(end) - 1, f"ends with {end[-1]}")
    word = end[-12:].rpartition(" ")[2]
    if word in _LEADING:
        return TextFault("unfinished-answer", len(end) - len(word), f"ends with {word}")
    return _open_fence(text) if "```" in text or "~~~" in text else None


def _open_fence(text: str) -> TextFault | None:
    fences = list(_FENCE.finditer(text))
    if len(fences) % 2 == 0:  # blocks within blocks close in pairs
        return None
    opened: re.Match[str] | None = None
    for fence in fences:
        if opened is None:
            opened = fence
        elif fence.group(1).startswith(opened.group(1)):
            line = text[fence.end() :].partition("\n")[0]
            opened = opened if line.strip() else None
    if opened is None:
        return None
    says = "a block of code is never closed"
    return TextFault("unfinished-answer", opened.start(1), says)


def open_json(text: str) -> TextFault | None:
    """Return where JSON breaks off; ``None`` where it is whole, or no JSON.

    Examples
    --------
    >>> from ftlab.probes.data.answers.answer_faults import open_json
    >>> open_json('{"name": "Ada", "born": ')
    TextFault(name='unfinished-answer', char=23, says='ends within JSON')
    >>> open_json('{"name": "Ada"}'), open_json("[1] Ada"), open_json("{x} of")
    (None, None, None)
    """
    if not text.startswith(("{", "[")):
        return None
    opened = text.count("{") - text.count("}"), text.count("[") - text.count("]")
    if max(opened) <= 0 or not _JSON.match(text):
        return None
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        left = text[error.pos :].strip()
        cut_text = error.msg.startswith("Unterminated string") and "\n" not in left
        word = any(each.startswith(left) for each in ("true", "false", "null"))
        if cut_text or word or not left.strip(",:"):
            return TextFault("unfinished-answer", len(text) - 1, "ends within JSON")
    except RecursionError:
        pass
    return None


def _next_turn(text: str, row: RowParts) -> TextFault | None:
    """Find where an answer goes on with a user's turn, and the answer to it."""
    found = _USER.search(text)
    if found is None or _ASSISTANT.search(text, found.end()) is None:
        return None
    before = text[: found.start()].rstrip()
    introduced = not before or before.endswith(":") or before.count("```") % 2
    if introduced or _ASSISTANT.search(f"\n{before}"):
        return None
    if any(part.role == "user" and _TALK.search(part.text) for part in row.parts):
        return None
    says = f"goes on with {found.group(1)!r}"
    return TextFault("next-turn-in-answer", found.start(1), says)
