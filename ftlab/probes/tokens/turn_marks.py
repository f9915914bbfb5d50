"""What a chat template writes around messages, as marks that can be searched for.

In the texts that are searched, a control token is one character of a private plane: a
marker that somebody typed as plain text is then another text than the token.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ftlab.records.template import TemplateFacts
from ftlab.records.token_row import Piece

_PRIVATE = 0xF0000
"""First of these characters."""

_GAP, _DATE = "\ufdd0", r".{1,40}?"
"""In place of a date, a character that no text has; and what matches any date."""


@dataclass(slots=True)
class Mark:
    """A text without its outer white space, and what it is to whom.

    Attributes
    ----------
    core
        The text, with control tokens as single characters.
    openers, enders
        By role, what may stand around the core: white space before and behind it.
    begins
        The same where it begins a conversation.
    """

    core: str
    openers: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    enders: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    begins: list[tuple[str, str]] = field(default_factory=list)

    @property
    def control(self) -> bool:
        """Whether it holds a control token, which nobody can type."""
        return any(ord(one) >= _PRIVATE for one in self.core)


@dataclass(frozen=True, slots=True)
class Match:
    """A mark within a text; ``start`` and ``end`` are those of its core."""

    start: int
    end: int
    mark: Mark

    def opened(self, text: str, role: str) -> tuple[int, int]:
        """Return where it begins and ends as the opening of a role."""
        return _widened(text, self, self.mark.openers[role])

    def ended(self, text: str, role: str) -> tuple[int, int]:
        """Return where it begins and ends as the end of a role; any, for ``""``."""
        every = [each for ways in self.mark.enders.values() for each in ways]
        return _widened(text, self, self.mark.enders.get(role, every))

    def begun(self, text: str) -> tuple[int, int]:
        """Return where it begins and ends as the beginning of a conversation."""
        return _widened(text, self, self.mark.begins)


def _widened(text: str, match: Match, ways: list[tuple[str, str]]) -> tuple[int, int]:
    start, end = match.start, match.end
    before = [lead for lead, _ in ways if text.endswith(lead, 0, start)]
    # some vocabularies put a space behind each control token
    trails = [way for _, trail in ways for way in (trail, f" {trail}" if trail else "")]
    behind = [trail for trail in trails if text.startswith(trail, end)]
    start -= max(map(len, before), default=0)
    return start, end + max(map(len, behind), default=0)


class TurnMarks:
    """The marks of one template in one vocabulary.

    Examples
    --------
    >>> from ftlab.probes.tokens.turn_marks import TurnMarks
    >>> from ftlab.records.template import TemplateFacts
    >>> from ftlab.records.token_row import Piece
    >>> facts = TemplateFacts(openings={"user": "<u>"}, generation_prompt="<a>")
    >>> marks = TurnMarks(facts, {3: Piece("<u>", "<u>", frozenset({"control"}))})
    >>> typed, token = "<u>", marks.text_of(3)
    >>> [match.start for match in marks.found_in(typed + token)]
    [3]
    """

    def __init__(self, facts: TemplateFacts, pieces: Mapping[int, Piece]) -> None:
        self._pieces = pieces
        self._signs = _signs(facts, pieces)
        self._written = {pieces[i].text: sign for i, sign in self._signs.items()}
        self._written |= {pieces[i].piece: sign for i, sign in self._signs.items()}
        self._marks: dict[str, Mark] = {}
        self.blank_openings: dict[str, str] = {}
        self.blank_ends: dict[str, list[str]] = {}
        self.prompt = self.signed(facts.generation_prompt)
        self._open(facts)
        self._end(facts)
        beginning = self.signed(_undated(facts))
        if mark := self._mark(beginning):
            mark.begins.append(_outer(beginning))

    @property
    def known(self) -> bool:
        """Whether there is anything to search for."""
        return any(mark.openers or mark.enders for mark in self._marks.values())

    def closes(self, role: str) -> bool:
        """Whether something that is no white space ends this role's turns."""
        return any(role in mark.enders for mark in self._marks.values())

    def text_of(self, each: int) -> str:
        """Return what a token stands for; a character of its own for a control."""
        return self._signs.get(each) or self._pieces[each].text

    def is_bos(self, one: str) -> bool:
        """Whether a character stands for the beginning of a text."""
        return any(
            sign == one and "bos" in self._pieces[each].special
            for each, sign in self._signs.items()
        )

    def signed(self, text: str) -> str:
        """Write the control strings of a text as their characters."""
        words = sorted(filter(None, self._written), key=len, reverse=True)
        if not words or not text:
            return text
        pattern = "|".join(map(re.escape, words))
        return re.sub(pattern, lambda found: self._written[found.group()], text)

    def found_in(self, text: str) -> list[Match]:
        """Return the marks in a text, the longest first where several begin."""
        found = [
            Match(each.start(), each.end(), mark)
            for core, mark in self._marks.items()
            for each in re.finditer(_loose(core), text)
        ]
        return sorted(found, key=lambda match: (match.start, -match.end))

    def _open(self, facts: TemplateFacts) -> None:
        for role, written in facts.openings.items():
            opening = self.signed(written)
            ways = [opening]
            if role == "assistant" and opening.strip() and self.prompt.strip():
                shared = _shared(opening, self.prompt)
                ways += [self.prompt, shared] if shared.strip() else [self.prompt]
            for way in dict.fromkeys(ways):
                mark = self._mark(way)
                if mark is None:
                    self.blank_openings[role] = way
                else:
                    mark.openers.setdefault(role, []).append(_outer(way))

    def _end(self, facts: TemplateFacts) -> None:
        for role in {**facts.ends, **facts.last_ends}:
            written = facts.ends.get(role, ""), facts.last_ends.get(role, "")
            for end in dict.fromkeys(map(self.signed, written)):
                mark = self._mark(end)
                if mark is not None:
                    mark.enders.setdefault(role, []).append(_outer(end))
                elif end:
                    self.blank_ends.setdefault(role, []).append(end)

    def _mark(self, text: str) -> Mark | None:
        core = text.strip()
        return self._marks.setdefault(core, Mark(core)) if core else None


def _signs(facts: TemplateFacts, pieces: Mapping[int, Piece]) -> dict[int, str]:
    single = {text for text, count in facts.pieces.items() if count == 1}
    control = (
        each
        for each, piece in sorted(pieces.items())
        if piece.special or piece.piece in single
    )
    return {each: chr(_PRIVATE + at) for at, each in enumerate(control)}


def _shared(one: str, other: str) -> str:
    pairs = enumerate(zip(one, other, strict=False))
    unequal = (at for at, (left, right) in pairs if left != right)
    return one[: next(unequal, min(len(one), len(other)))]


def _outer(text: str) -> tuple[str, str]:
    """Return the white space before and behind a text."""
    lead = text[: len(text) - len(text.lstrip())]
    return lead, text[len(text.rstrip()) :]


def _loose(core: str) -> str:
    """Match a text with any white space where it has some, or beside a control.

    Vocabularies put a space before a word, and some swallow white space around
    control tokens.
    """
    words = (re.escape(word).replace(_GAP, _DATE) for word in _words(core))
    return r"\s*".join(words)


def _undated(facts: TemplateFacts) -> str:
    """Return the beginning with a gap for the date, which is that of the rendering."""
    if len(facts.date) < len("3/2/24"):
        return facts.beginning
    return facts.beginning.replace(facts.date, _GAP)


def _words(core: str) -> Iterator[str]:
    for word in core.split():
        yield from filter(None, re.split(f"([{chr(_PRIVATE)}-{chr(0x10FFFF)}])", word))
