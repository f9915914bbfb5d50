r"""Marks in the texts of a conversation, which tell in its rendering who wrote what.

A mark is one character of the last private-use plane. It stands inside the outer
whitespace of a text, where stripping does not meet it, and not across a tag that the
template itself names (``</think>``), where templates cut texts apart.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ftlab.records.token_row import Part

FIRST, LAST = 0x100000, 0x10FFFD
TAG = re.compile(r"<[^<>\s]{1,60}>|\[[^\[\]\s]{1,60}\]")
"""What looks like a control string, in any notation that has brackets."""
THOUGHT = re.compile(r"think|thought|reason", re.IGNORECASE)
REASONING = ("reasoning_content", "reasoning", "thinking")
"""The fields of a message in which transformers looks for reasoning."""
_ESCAPED = re.compile(
    r"\\U(0010[0-9a-fA-F]{4})|\\u(d[bB][c-fC-F][0-9a-fA-F])\\u(d[c-fC-F][0-9a-fA-F]{2})",
    re.IGNORECASE,
)
"""A mark that Python's repr, or JSON in ASCII, has written in letters."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a message's text that stands between two marks.

    Attributes
    ----------
    text
        Between the marks.
    before
        What the text holds between the stretch before and this one, or its beginning:
        whitespace and tags.
    after
        What follows the last stretch of a text; ``""`` for the others.
    first
        Whether it is the first stretch of its text.
    """

    message: int
    part: Part
    text: str
    before: str
    after: str
    first: bool


@dataclass(frozen=True, slots=True)
class Found:
    """Where a rendering holds a stretch."""

    start: int
    end: int
    stretch: Stretch


@dataclass(frozen=True, slots=True)
class Plan:
    """What is marked: each template can stand some of it.

    Attributes
    ----------
    empty
        Also texts that hold nothing but whitespace.
    names
        Also the names of the functions that are called.
    calls
        Also the arguments of calls.
    tags
        Texts are cut at these.
    strip
        Texts lose their outer whitespace, to see whose it is in a rendering.
    """

    empty: bool = True
    names: bool = True
    calls: bool = True
    tags: frozenset[str] = frozenset()
    strip: bool = False


PLANS = (
    Plan(),
    Plan(empty=False),
    Plan(empty=False, names=False),
    Plan(empty=False, names=False, calls=False),
)


class Marker:
    """Puts marks into messages, and finds them in what is made of these."""

    def __init__(self, plan: Plan) -> None:
        self.stretches: list[Stretch] = []
        self.plan = plan

    def marked(self, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return copies with a mark before and behind each stretch."""
        return [self._message(i, dict(each)) for i, each in enumerate(messages)]

    def read(self, text: str) -> tuple[str, list[Found]]:
        """Return a rendering without marks, and where the stretches are in it."""
        rest: list[str] = []
        open_at: dict[int, int] = {}
        found: list[Found] = []
        place = 0
        for piece, number in self._pieces(text):
            rest.append(piece)
            place += len(piece)
            index, closes = divmod(number, 2)
            if not closes:
                open_at[index] = place
            elif index in open_at:
                found.append(Found(open_at.pop(index), place, self.stretches[index]))
        whole = "".join(rest)
        return whole, list(_first_calls(found, whole))

    def _pieces(self, text: str) -> Iterator[tuple[str, int]]:
        """Yield what stands before each mark, and the mark's number."""
        count = 2 * len(self.stretches)
        plain = _ESCAPED.sub(lambda m: _unescaped(m, count), text)
        last = 0
        for match in re.finditer(f"[{chr(FIRST)}-{chr(LAST)}]", plain):
            number = ord(match.group()) - FIRST
            if number < count:
                yield plain[last : match.start()], number
                last = match.end()
        yield plain[last:], -2  # opens nothing that is closed

    def _message(self, index: int, message: dict[str, Any]) -> dict[str, Any]:
        for name in REASONING:
            if isinstance(message.get(name), str):
                message[name] = self._text(index, "reasoning", message[name])
        if "content" in message:
            message["content"] = self._content(index, message["content"])
        if isinstance(message.get("tool_calls"), list) and self.plan.calls:
            message["tool_calls"] = [
                self._call(index, each) for each in message["tool_calls"]
            ]
        return message

    def _content(self, index: int, content: Any) -> Any:
        if isinstance(content, str):
            return self._text(index, "text", content)
        if not isinstance(content, list):
            return content
        return [self._piece(index, each) for each in content]

    def _piece(self, index: int, piece: Any) -> Any:
        if isinstance(piece, str):
            return self._text(index, "text", piece)
        if not isinstance(piece, Mapping):
            return piece
        parts: dict[str, Part] = {"text": "text", "thinking": "reasoning"}
        return {
            k: self._text(index, parts[k], v)
            if k in parts and isinstance(v, str)
            else v
            for k, v in piece.items()
        }

    def _call(self, index: int, call: Any) -> Any:
        if not isinstance(call, Mapping):
            return call
        call = dict(call)
        if isinstance(call.get("function"), Mapping):
            call["function"] = self._call(index, call["function"])
        if isinstance(call.get("name"), str) and self.plan.names:
            call["name"] = self._wrapped(index, "tool call", call["name"])
        if "arguments" in call:
            call["arguments"] = self._leaves(index, call["arguments"])
        return call

    def _leaves(self, index: int, value: Any) -> Any:
        if isinstance(value, str):
            return self._wrapped(index, "tool call", value) if value else value
        if isinstance(value, Mapping):
            return {k: self._leaves(index, v) for k, v in value.items()}
        if isinstance(value, list):
            return [self._leaves(index, v) for v in value]
        return value

    def _text(self, index: int, part: Part, text: str) -> str:
        if self.plan.strip:
            text = text.strip()
        written: list[str] = []
        before, first = "", True
        for piece, kind in _cut(text, part, self.plan.tags):
            body = piece.strip()
            if not body or kind is None:
                # Nothing to be marked, except that a text may hold nothing at all.
                before += piece
                continue
            lead = piece[: len(piece) - len(piece.lstrip())]
            trail = piece[len(piece.rstrip()) :]
            written.append(before + lead + self._wrap(index, kind, body, before + lead))
            self._mend(first=first)
            before, first = trail, False
        if first and self.plan.empty:
            return before + self._wrap(index, part, "", before)
        if not first:
            self._mend(after=before)
        return "".join(written) + before

    def _mend(self, **changes: Any) -> None:
        self.stretches[-1] = replace(self.stretches[-1], **changes)

    def _wrapped(self, index: int, part: Part, text: str) -> str:
        return self._wrap(index, part, text, "")

    def _wrap(self, index: int, part: Part, body: str, before: str) -> str:
        number = FIRST + 2 * len(self.stretches)
        if number + 1 > LAST:
            return body
        self.stretches.append(Stretch(index, part, body, before, "", True))
        return f"{chr(number)}{body}{chr(number + 1)}"


def _first_calls(found: list[Found], whole: str) -> Iterator[Found]:
    """Leave out what was cut, and a function's name where a result repeats it."""
    seen: set[int] = set()
    for each in found:
        again = each.stretch.part == "tool call" and id(each.stretch) in seen
        seen.add(id(each.stretch))
        if not again and whole[each.start : each.end] == each.stretch.text:
            yield each


def holds_marks(value: Any) -> bool:
    """Say whether something already holds a character of those that mark."""
    if isinstance(value, str):
        return max(value, default="") >= chr(FIRST)
    if isinstance(value, Mapping):
        return any(map(holds_marks, value.values()))
    return isinstance(value, list | tuple) and any(map(holds_marks, value))


def _unescaped(match: re.Match[str], count: int) -> str:
    long, high, low = match.groups()
    if long:
        code = int(long, 16)
    else:
        code = 0x10000 + ((int(high, 16) - 0xD800) << 10) + (int(low, 16) - 0xDC00)
    return chr(code) if FIRST <= code < FIRST + count else match.group()


def _cut(
    text: str, part: Part, tags: frozenset[str]
) -> Iterator[tuple[str, Part | None]]:
    """Yield a text's pieces: tags without a part, and what stands between with one."""
    if not tags:
        yield text, part
        return
    matches = [m for m in TAG.finditer(text) if m.group() in tags]
    thinking = bool(matches) and _closes(matches[0].group())
    last = 0
    for match in matches:
        tag = match.group()
        yield text[last : match.start()], "reasoning" if thinking else part
        yield tag, None
        last = match.end()
        if THOUGHT.search(tag):
            thinking = not _closes(tag)
    yield text[last:], "reasoning" if thinking else part


def _closes(tag: str) -> bool:
    """Say whether a tag ends a thought: ``</think>``, ``<|END_THINKING|>``."""
    inside = tag.strip("<>[]|\uff5c").upper()
    return THOUGHT.search(tag) is not None and inside.startswith(("/", "END"))
