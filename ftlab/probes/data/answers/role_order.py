"""The order of the roles of a conversation."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from ftlab.probes.data.rows.parts import ROLES, Part, Placed, TextFault

_WORDS = {"s": "system", "u": "user", "a": "assistant", "c": "call", "t": "tool"}


def order_faults(parts: Sequence[Part]) -> Iterator[Placed]:
    """Yield what is wrong with the order of the messages, and their roles.

    Examples
    --------
    >>> from ftlab.probes.data.answers.role_order import order_faults
    >>> from ftlab.probes.data.rows.formats import parts_of
    >>> talk = [{"role": role, "content": "So."} for role in ("user", "user")]
    >>> [fault.says for _, fault in order_faults(parts_of({"messages": talk}).parts)]
    ['user twice in a row']
    """
    name, at, says = _verdict("".join([ROLES.get(part.role, "?") for part in parts]))
    if name == "unknown-role":
        says = f"the role {parts[at].role[:40]!r}"
    if name:
        yield parts[at], TextFault(name, -1, says)


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
