"""What is wrong with a conversation: the order of its roles, and its answers."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ftlab.probes.data.row_parts import Part, RowParts
from ftlab.probes.data.text_faults import TextFault

SHORTEST = 60
"""Characters from which on an answer that ends oddly is one that breaks off."""

ROLES = {
    **dict.fromkeys(("system", "developer"), "s"),
    **dict.fromkeys(("user", "human"), "u"),
    **dict.fromkeys(("assistant", "model", "bot", "gpt", "chatgpt"), "a"),
    **dict.fromkeys(("function_call", "tool_call"), "c"),
    **dict.fromkeys(
        (
            "tool",
            "function",
            "ipython",
            "observation",
            "tool_response",
            "function_response",
        ),
        "t",
    ),
}
"""Letters for the roles that are known: system, user, answer, call, result."""

_WORDS = {"s": "system", "u": "user", "a": "assistant", "c": "call", "t": "tool"}
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_OPEN = tuple(",(\u3001\uff0c\uff08[{")
"""What no text ends with."""

_LEADING = frozenset(
    {"the", "an", "and", "or", "but", "because", "although", "whereas", "which"}
    | {"their", "my", "your", "our", "its"}
)
"""Words that no sentence ends with."""

Placed = tuple[Part, TextFault]


def is_answer(part: Part) -> bool:
    """Tell whether a text is one that is to be learnt."""
    return ROLES.get(part.role) == "a"


def answer_faults(row: RowParts) -> Iterator[Placed]:
    """Yield what is wrong with a row's answers, and with the order of its messages.

    Examples
    --------
    >>> from ftlab.probes.data.answer_faults import answer_faults
    >>> from ftlab.probes.data.row_parts import parts_of
    >>> row = parts_of({"prompt": "Say nothing.", "completion": " "})
    >>> [(part.where, fault.name) for part, fault in answer_faults(row)]
    [('completion', 'empty-answer')]
    """
    for part in row.parts:
        if is_answer(part) and (fault := _fault_of(part)):
            yield part, fault
    if row.kind == "messages" and row.parts:
        yield from _order(row.parts)
    elif row.kind == "prompt and answer":
        yield from _repeated(row.parts)
    elif row.kind == "text" and not row.parts[0].text.strip():
        yield row.parts[0], TextFault("empty-text", -1, "nothing to read")


def _fault_of(part: Part) -> TextFault | None:
    if len(part.text) >= SHORTEST and not part.text.isspace():
        return _broken_off(part.text)
    if part.says_more or part.text.strip():
        return None
    says = "nothing but white space" if part.text else "nothing"
    return TextFault("empty-answer", -1, says)


def _broken_off(text: str) -> TextFault | None:
    end = text.rstrip()
    if end.endswith(_OPEN):
        return TextFault("unfinished-answer", len(end) - 1, f"ends with {end[-1]}")
    word = end[-12:].rpartition(" ")[2]
    if word in _LEADING:
        return TextFault("unfinished-answer", len(end) - len(word), f"ends with {word}")
    if "```" in text or "~~~" in text:
        return _open_fence(text)
    return None


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


def _order(parts: Sequence[Part]) -> Iterator[Placed]:
    letters = "".join([ROLES.get(part.role, "?") for part in parts])
    name, at, says = _verdict(letters)
    if not name:
        return
    part = parts[at]
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


def _repeated(parts: Sequence[Part]) -> Iterator[Placed]:
    """Find a completion that holds its prompt."""
    if len(parts) != 2:
        return
    prompt, answer = parts
    whole = prompt.text.strip()
    if (
        prompt.message < 0
        and len(whole) >= SHORTEST // 3
        and len(answer.text) > len(prompt.text)
        and answer.text.lstrip().startswith(whole)
    ):
        yield answer, TextFault("prompt-in-completion", 0, "the prompt once more")
