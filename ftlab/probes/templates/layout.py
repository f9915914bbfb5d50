"""What the template wrote between the texts of messages, turn by turn."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ftlab.probes.templates.borders import Controls, border, common
from ftlab.probes.templates.owners import Own
from ftlab.probes.templates.shape import Shape
from ftlab.records.token_row import Part, TextSpan


@dataclass(frozen=True, slots=True)
class Tails:
    """How the conversation would go on if it stopped.

    Attributes
    ----------
    unprompted
        The rendering without a generation prompt.
    of
        Given a message and its last text, what stands behind that where the
        conversation stops there; ``None`` where that is refused.
    """

    unprompted: str | None
    of: Callable[[int, str], str | None]


@dataclass(slots=True)
class _Block:
    """The texts of one message that stand next to each other."""

    owns: list[Own]

    @property
    def message(self) -> int:
        return self.owns[0].message

    @property
    def start(self) -> int:
        return self.owns[0].start

    @property
    def end(self) -> int:
        return self.owns[-1].end


class Layout:
    """Gives every character of a rendering to a turn."""

    def __init__(
        self, text: str, messages: Sequence[Mapping[str, Any]], controls: Controls
    ) -> None:
        self._text = text
        self._roles = [str(each.get("role", "")) for each in messages]
        self._controls = controls
        self._spans: list[TextSpan] = []

    def spans(
        self, owns: Sequence[Own], shape: Shape, tails: Tails, *, prompt: bool
    ) -> tuple[TextSpan, ...]:
        """Return the spans, in order and without a gap."""
        self._shape, self._tails = shape, tails
        blocks = _blocks(owns)
        place = 0
        for before, block in zip([None, *blocks], blocks, strict=False):
            self._between(before, block, place)
            self._inside(block)
            place = block.end
        self._last(blocks[-1] if blocks else None, place, prompt)
        return tuple(_merged(self._spans))

    def _put(self, start: int, end: int, message: int, part: Part) -> None:
        if end > start:
            role = self._roles[message] if message >= 0 else ""
            if part == "generation prompt":
                role, message = "assistant", -1
            self._spans.append(TextSpan(start, end, role, message, part))

    def _inside(self, block: _Block) -> None:
        """Give what stands between a message's own texts to these."""
        for left, right in zip(block.owns, block.owns[1:], strict=False):
            self._put(left.start, left.end, left.message, left.part)
            parts = {left.part, right.part}
            part: Part = "added"
            if "tool call" in parts:
                part = "tool call"
            elif "reasoning" in parts:
                part = "reasoning"
            self._put(left.end, right.start, left.message, part)
        last = block.owns[-1]
        self._put(last.start, last.end, last.message, last.part)

    def _between(self, left: _Block | None, right: _Block, place: int) -> None:
        """Lay out an end, the turns that hold no text, and an opening."""
        if left is not None:
            place = self._end(left, right.start)
        place, owner = self._silent(left, right.message, place, right.start)
        silent = owner != (-1 if left is None else left.message)
        self._opening(right, place, owner, silent=silent)

    def _silent(
        self, left: _Block | None, until: int, place: int, limit: int
    ) -> tuple[int, int]:
        """Put the turns that hold no text; return where they end, and the last one."""
        owner = -1 if left is None else left.message
        for message in range(owner + 1, until):
            opening = self._shape.openings.get(self._roles[message], "")
            found = self._find(opening, place, limit)
            if found is not None:
                self._put(place, found[0], owner, "added" if owner < 0 else "end")
                self._put(*found, message, "header")
                place, owner = found[1], message
        return place, owner

    def _end(self, left: _Block, limit: int) -> int:
        """Put what closes a turn; return where the next one may open."""
        gap = self._text[left.end : limit]
        called = left.owns[-1].part == "tool call"
        known = self._shape.ends.get(self._roles[left.message])
        begin = left.end
        if called:
            begin = left.end + self._call_end(gap, known, left)
            self._put(left.end, begin, left.message, "tool call")
            gap = self._text[begin:limit]
        if known is not None and known and gap.startswith(known):
            place = begin + len(known)
        else:
            tail = self._tail_of(left)
            if called and tail is not None:
                tail = tail[begin - left.end :]
            first = self._first_opening()
            place = begin + border(gap, tail, first, self._controls, first or "")
        self._put(begin, place, left.message, "end")
        return place

    def _call_end(self, gap: str, known: str | None, left: _Block) -> int:
        """Return where a call's own notation is over, and the turn's end begins."""
        close = (known or "").strip()
        if close and close in gap:
            return gap.index(close)
        tail = self._tail_of(left)
        written = gap[: border(gap, tail, None, self._controls)] if tail else gap
        if known is not None and not close:
            return len(written)  # nothing ends the turns of this role
        return self._controls.last(written.rstrip())

    def _tail_of(self, left: _Block) -> str | None:
        own = left.owns[-1]
        last = self._text[own.start : own.end]
        tail = self._tails.of(left.message, last) if last else None
        return None if tail is None else self._shape.asked(tail)

    def _first_opening(self) -> str | None:
        beginning = self._shape.beginning + self._shape.openings.get("user", "")
        return beginning or None

    def _opening(self, right: _Block, place: int, owner: int, *, silent: bool) -> None:
        """Put what opens a message's turn, and what is written before its text."""
        limit, message = right.start, right.message
        rest: Part = "added"
        if right.owns[0].part in ("reasoning", "tool call"):
            rest = right.owns[0].part
        found = self._header(message, place, limit)
        if found is None:
            found = self._like(message, place, limit)
        start, end, whose = found
        self._put(place, start, owner if silent else -1, "end" if silent else "added")
        self._put(start, end, whose, "header")
        self._put(end, limit, message, rest)

    def _like(self, message: int, place: int, limit: int) -> tuple[int, int, int]:
        """Take what begins as the role's opening does; all of it for unknown roles."""
        known = self._shape.openings.get(self._roles[message])
        if known is None or self._roles[message] == "tool":
            return place, limit, message
        gap = self._text[place:limit]
        shared = self._controls.safe(known, common(known, gap))
        return place, place + shared, message

    def _header(
        self, message: int, place: int, limit: int
    ) -> tuple[int, int, int] | None:
        """Find the opening of a message's turn, or of one that it was put into."""
        later = range(message + 1, len(self._roles))
        whose = {self._roles[each]: each for each in reversed(later)}
        whose[self._roles[message]] = message
        tried = [self._roles[message], *(r for r in whose if r != self._roles[message])]
        for role in tried:
            found = self._find(self._shape.openings.get(role, ""), place, limit)
            if found is not None:
                return (*found, whose[role])
        return None

    def _find(self, opening: str, place: int, limit: int) -> tuple[int, int] | None:
        """Find an opening in a gap; the whitespace behind it may have been cut."""
        if not opening:
            return None
        gap = self._text[place:limit]
        at = gap.rfind(opening)
        if at < 0 and gap.endswith(opening.rstrip()) and opening.strip():
            opening = opening.rstrip()
            at = gap.rfind(opening)
        return None if at < 0 else (place + at, place + at + len(opening))

    def _last(self, left: _Block | None, place: int, prompt: bool) -> None:
        """Put what closes the last turn, and the generation prompt."""
        text = self._text
        if left is None:
            self._put(place, len(text), -1, "added")
            return
        end = len(text)
        asked = self._shape.unasked or (self._shape.generation_prompt if prompt else "")
        if prompt:
            end = self._prompt_start(place, asked)
        elif asked and text.endswith(asked) and len(text) - len(asked) >= place:
            end = len(text) - len(asked)
        if left.owns[-1].part == "tool call":
            cut = place + self._last_call(left, text[place:end])
            self._put(place, cut, left.message, "tool call")
            place = cut
        count, owner = len(self._roles), left.message
        if left.message + 1 < count:
            place, owner = self._silent(left, count, place, end)
        self._put(place, end, owner, "end")
        self._put(end, len(text), -1, "generation prompt")

    def _last_call(self, left: _Block, gap: str) -> int:
        known = self._shape.last_ends.get(self._roles[left.message])
        close = (known or "").strip()
        if close and close in gap:
            return gap.index(close)
        return len(gap) if known == "" else self._controls.last(gap.rstrip())

    def _prompt_start(self, place: int, asked: str) -> int:
        text, other = self._text, self._tails.unprompted
        if asked and text.endswith(asked) and len(text) - len(asked) >= place:
            return len(text) - len(asked)
        if other is None or other[:place] != text[:place]:
            return len(text)
        return place + border(text[place:], other[place:], None, self._controls)


def _blocks(owns: Sequence[Own]) -> list[_Block]:
    """Group texts by message, without those that overlap one before."""
    kept: list[Own] = []
    for own in owns:
        if not kept or own.start >= kept[-1].end:
            kept.append(own)
    return [_Block(list(group)) for _, group in groupby(kept, lambda o: o.message)]


def _merged(spans: Sequence[TextSpan]) -> Iterator[TextSpan]:
    """Join neighbours that belong to the same part of the same turn."""
    last: TextSpan | None = None
    for span in spans:
        same = last is not None and (last.role, last.message, last.part) == (
            span.role,
            span.message,
            span.part,
        )
        if last is not None and same:
            last = TextSpan(last.start, span.end, last.role, last.message, last.part)
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last
