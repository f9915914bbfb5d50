"""What is wrong with a conversation: the order of its roles, and its answers."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ftlab.probes.data.answers.joining_words import goes_on
from ftlab.probes.data.answers.loops import looping
from ftlab.probes.data.answers.open_json import open_json
from ftlab.probes.data.answers.repetitions import said_again
from ftlab.probes.data.rows.parts import Part, RowParts
from ftlab.probes.data.rows.roles import ROLES
from ftlab.probes.data.texts.text_faults import TextFault

SHORTEST = 60
"""Characters from which on an answer that ends oddly is one that breaks off."""

_EXCHANGED = re.compile("s*(?:au)+")
"""Conversations in which the two speakers may have each other's name."""

_WORDS = {"s": "system", "u": "user", "a": "assistant", "c": "call", "t": "tool"}
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_OPEN = tuple(",(\u3001\uff0c\uff08[{")
"""What no text ends with."""

_LEADING = frozenset(
    {"the", "an", "and", "or", "but", "because", "although", "whereas", "which"}
    | {"their", "my", "your", "our", "its"}
)
"""Words that no sentence ends with, in English."""

_ENGLISH = frozenset(
    {"the", "of", "and", "to", "is", "that", "with", "it", "as", "this", "which"}
    | {"should", "would", "they", "their", "there", "from", "then", "you", "your"}
)
OF_ENGLISH = 2
"""How many of these words make a text English."""

SHORT_LINE, SHORT_LAST, VERSES = 60, 40, 3
"""Characters of lines of verse and of a letter's closing; lines that make a verse."""

_SMILING = (":", ";", "=", ":-", ";-", "=-", ":'")
"""What makes a smiley of an open bracket."""

_MIDDLE = (
    "<MID>",
    "<fim_middle>",
    "<fim-middle>",
    "<|fim_middle|>",
    "<\uff5cfim\u2581end\uff5c>",
)
"""Marks of prompts that are answered by what stands between two pieces of a text."""

_SAY = r"(?:say|write|answer|output|return|print|reply|respond|give|list|leave)"
_NONE = (
    r"(?:nothing|blank|empty|an? (?:empty|blank) (?:line|answer|output|text|string))"
)
_BY_NOTHING = re.compile(
    rf"(?:^|[.;:,(?!])\s*(?:(?:and|or|but|else) )?(?:{_SAY} (?:\w+ ){{0,3}})?{_NONE}"
    r" (?:if|when|where|unless)\b"
    rf"|(?:^|[.;:,(?!])\s*(?:if|when|where) [^.;\n]{{1,60}}, (?:then )?{_SAY}"
    rf" (?:\w+ ){{0,3}}{_NONE}\b",
    re.IGNORECASE | re.MULTILINE,
)
"""A prompt that is answered by nothing in some rows."""

_AGAIN = re.compile(
    r"\b(?:say|write|type|print|copy|output|generate|sing|recite)\b[^\n?]{0,200}"
    r"\b(?:(?:\d+|ten|twenty|fifty|hundred|many|several) times|over and over"
    r"|again and again|forever)\b"
    r"|(?:^|[.!?:;,]\s*|\b(?:please|and|then|to) )repeat\b",
    re.IGNORECASE | re.MULTILINE,
)
"""A prompt that asks for the same again and again."""

_UNSEEN = " \t\r\n\v\f\u200b\u200c\u200d\u2060\ufeff\xa0"
_NO_WORDS = "-.?!\"'\u2026\u2014\u2013_*,;:" + _UNSEEN

Placed = tuple[Part, TextFault]


def is_answer(part: Part) -> bool:
    """Tell whether a text is one that is to be learnt."""
    return ROLES.get(part.role) == "a"


def asks_about(row: RowParts, words: re.Pattern[str]) -> bool:
    """Tell whether what is asked, or said before it, holds some words.

    Examples
    --------
    >>> import re
    >>> from ftlab.probes.data.answers.answer_faults import asks_about
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> row = parts_of({"prompt": "Why?", "completion": "Ask how."})
    >>> asks_about(row, re.compile("Why")), asks_about(row, re.compile("how"))
    (True, False)
    """
    return any(words.search(part.text) for part in row.parts if not is_answer(part))


def answer_faults(row: RowParts) -> Iterator[Placed]:
    """Yield what is wrong with a row's answers, and with the order of its messages.

    Examples
    --------
    >>> from ftlab.probes.data.answers.answer_faults import answer_faults
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> row = parts_of({"prompt": "Say nothing.", "completion": " "})
    >>> [(part.where, fault.name) for part, fault in answer_faults(row)]
    [('completion', 'empty-answer')]
    """
    for part in row.answers:
        fault = _fault_of(part)
        if fault is not None and not _is_asked_for(fault, row):
            solves = part.column == "solution" and fault.name == "empty-answer"
            yield part, fault._replace(name="empty-solution") if solves else fault
    if row.kind == "messages" and row.parts:
        yield from _order(row.parts)
        if len(row.answers) > 1:
            yield from said_again(row)
    elif row.kind == "text" and not row.parts[0].text.strip():
        yield row.parts[0], TextFault("empty-text", -1, "nothing to read")


def _is_asked_for(fault: TextFault, row: RowParts) -> bool:
    """Tell whether a prompt wants what would be wrong.

    The middle of a text ends anywhere; some ask for nothing, or for the same again.
    """
    asked = [part.text for part in row.parts if not is_answer(part)]
    if any(mark in text for text in asked for mark in _MIDDLE):
        return True
    if fault.name == "unfinished-answer":
        sign = fault.says.rpartition(" ")[2]
        return len(sign) == 1 and any(text.rstrip().endswith(sign) for text in asked)
    wanted = {"empty-answer": _BY_NOTHING, "looping-answer": _AGAIN}.get(fault.name)
    return wanted is not None and any(map(wanted.search, asked))


def _fault_of(part: Part) -> TextFault | None:
    text = part.text
    if len(text) >= SHORTEST and not text.isspace():
        return looping(text) or _broken_off(text) or open_json(text)
    if cut := open_json(text):
        return cut
    if part.says_more or text.strip(_NO_WORDS):
        return None
    if said := text.strip(_UNSEEN):
        return TextFault("answer-without-words", 0, repr(said))
    says = "nothing"
    if text:
        says = "nothing but " + ("white space" if text.isspace() else "hidden signs")
    return TextFault("empty-answer", -1, says)


def _broken_off(text: str) -> TextFault | None:
    end = text.rstrip()
    if end.endswith(_OPEN):
        if _is_meant(end):
            return None
        return TextFault("unfinished-answer", len(end) - 1, f"ends with {end[-1]}")
    word = end[-12:].rpartition(" ")[2]
    if (word in _LEADING or goes_on(end, word)) and _is_english(end[: -len(word)]):
        return TextFault("unfinished-answer", len(end) - len(word), f"ends with {word}")
    if ("`" in text and "```" in text) or ("~" in text and "~~~" in text):
        return _open_fence(text)
    return None


def _is_meant(text: str) -> bool:
    """Tell whether a text ends with a smiley, a letter's closing, or a verse."""
    if text.endswith("("):
        return text[:-1].endswith(_SMILING)
    if not text.endswith((",", "\uff0c", "\u3001")) or text.startswith(("{", "[")):
        return False
    lines = text.splitlines()
    if len(lines) < VERSES or len(lines[-1]) > SHORT_LINE:
        return False
    closing = not lines[-2].strip() and len(lines[-1]) <= SHORT_LAST
    said = [line for line in lines if line.strip()]
    short = sum(len(line) <= SHORT_LINE for line in said)
    return closing or (len(said) >= VERSES and 2 * short > len(said))


def _is_english(text: str) -> bool:
    return len(_ENGLISH.intersection(text.casefold().split())) >= OF_ENGLISH


def _open_fence(text: str) -> TextFault | None:
    if "\\n" in text and "\n" not in text.strip():
        return None  # its line ends are escaped, which is another fault
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


def _order(parts: Sequence[Part]) -> Iterator[Placed]:
    letters = "".join([ROLES.get(part.role, "?") for part in parts])
    name, at, says = _verdict(letters)
    if not name:
        return
    part = parts[at]
    if _EXCHANGED.fullmatch(letters) and _answers_like_a_user(parts):
        name, says = "roles-exchanged", "begins with an answer, ends with a question"
    if name == "unknown-role":
        says = f"the role {part.role[:40]!r}"
    yield part, TextFault(name, -1, says)


@lru_cache(maxsize=4096)
def _verdict(letters: str) -> tuple[str, int, str]:
    """Judge a conversation by its roles: kind of fault, message, and what is there."""
    if "?" in letters:
        return "unknown-role", letters.index("?"), ""
    out = _out_of_order(letters)
    if out is not None:
        return "roles-out-of-order", *out
    if letters[-1] in "uts":
        says = f"ends with a message of {_WORDS[letters[-1]]}"
        return "question-without-answer", len(letters) - 1, says
    return "", 0, ""


def _out_of_order(letters: str) -> tuple[int, str] | None:
    talk = letters.lstrip("s")
    begin = len(letters) - len(talk)
    if "s" in talk:
        return begin + talk.index("s"), "a system message within the conversation"
    if talk[:1] in ("a", "c"):
        return begin, "an answer before any question"
    for at, pair in enumerate(zip(" " + talk, talk, strict=False)):
        if pair in (("u", "u"), ("a", "a")):
            return begin + at, f"{_WORDS[pair[1]]} twice in a row"
        if pair in (("u", "t"), (" ", "t")):
            return begin + at, "the result of a tool that nobody called"
    return None


def _answers_like_a_user(parts: Sequence[Part]) -> bool:
    """Tell whether who should ask says more than who should answer."""
    said = {"a": 0, "u": 0, "s": 0}
    for part in parts:
        said[ROLES[part.role]] += len(part.text)
    return said["u"] > said["a"]
