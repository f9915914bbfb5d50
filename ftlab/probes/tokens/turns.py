"""Turns in bare ids, found by what a chat template writes around messages.

A row's text is searched for the openings and ends that the survey of a template learnt
(`ftlab.probes.tokens.turn_marks`). A control token is a mark wherever it stands, and
the same string as plain text never is. Marks that are plain text themselves can be
typed by a user: such an opening counts only directly behind the end of a turn. A text
that holds a whole end and opening cannot be told from a turn.

A token that holds characters of two parts belongs to that of its first character which
is no white space.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ftlab.probes.tokens.turn_marks import Match, TurnMarks
from ftlab.records.template import TemplateFacts
from ftlab.records.token_row import Part, Piece, TextSpan, Turn


def turns_in(
    ids: Iterable[int],
    pieces: Mapping[int, Piece],
    facts: TemplateFacts,
    *,
    segments: NDArray[np.int32] | None = None,
    texts: Mapping[int, str] | None = None,
) -> tuple[Turn, ...]:
    """Find who speaks where.

    Parameters
    ----------
    ids
        One row.
    pieces
        Of these ids, and of those in ``facts``.
    facts
        How the template opens and ends turns.
    segments
        Documents of a packed row, -1 for padding; each is read by itself.
    texts
        Of characters that several tokens hold, see `TokenRow`.

    Returns
    -------
    tuple of Turn
        In order, without overlap; none where the template's marks are not found.

    Examples
    --------
    >>> from ftlab.probes.tokens.turns import turns_in
    >>> from ftlab.records.template import TemplateFacts
    >>> from ftlab.records.token_row import Piece
    >>> facts = TemplateFacts(openings={"user": "<u>"}, ends={"user": "</u>"})
    >>> texts = enumerate(["<u>", "Hi", "</u>"])
    >>> pieces = {id: Piece(text, text) for id, text in texts}
    >>> [(t.start, t.end, t.role, t.part) for t in turns_in([0, 1, 2], pieces, facts)]
    [(0, 1, 'user', 'header'), (1, 2, 'user', 'text'), (2, 3, 'user', 'end')]
    """
    row = [int(each) for each in ids]
    marks = TurnMarks(facts, pieces)
    if not marks.known:
        return ()
    known = {each: marks.text_of(each) for each in set(row)}
    words = [known[each] for each in row]
    for at, text in (texts or {}).items():
        words[at] = text
    found: list[Turn] = []
    for start, end in _documents(len(row), segments):
        part = words[start:end]
        spans = spans_in("".join(part), marks)
        found += in_tokens(spans, *offsets(part), offset=start)
    return tuple(found)


def _documents(
    length: int, segments: NDArray[np.int32] | None
) -> Iterator[tuple[int, int]]:
    if segments is None:
        yield 0, length
        return
    edges = [0, *(np.flatnonzero(np.diff(segments)) + 1).tolist(), length]
    for start, end in pairwise(edges):
        if start < end and segments[start] >= 0:
            yield start, end


def offsets(words: list[str]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return each token's first character that is no white space.

    Tokens without a text stand where the one before them does.

    Examples
    --------
    >>> from ftlab.probes.tokens.turns import offsets
    >>> offsets(["Hi", " you", ""])[0].tolist()
    [0, 3, 6]
    """
    ends = np.cumsum([0, *map(len, words)])[:-1]
    skipped = [len(word) - len(word.lstrip()) if word.strip() else 0 for word in words]
    empty = np.array([not word for word in words], dtype=bool)
    return ends + np.array(skipped, dtype=np.int64), empty


def in_tokens(
    spans: Iterable[TextSpan],
    firsts: NDArray[np.int64],
    empty: NDArray[np.bool_],
    *,
    offset: int = 0,
) -> Iterator[Turn]:
    """Turn stretches of characters into stretches of tokens.

    Parameters
    ----------
    spans
        In order, without overlap.
    firsts, empty
        By token, the character that decides, and whether it has none of its own.
    offset
        Position of the first token.
    """
    owners = np.flatnonzero(~empty)
    starts = firsts[owners]
    edges = np.append(owners, len(firsts))
    for span in spans:
        first, last = np.searchsorted(starts, (span.start, span.end)).tolist()
        if first < last:
            low, high = offset + int(edges[first]), offset + int(edges[last])
            yield Turn(low, high, span.role, span.message, span.part)


def spans_in(text: str, marks: TurnMarks) -> list[TextSpan]:
    """Return what belongs to whom in one document, in characters."""
    return _Reader(text, marks).read()


class _Reader:
    """Goes through a document from mark to mark.

    ``role`` is that of the text which is open since ``place``, ``None`` between turns.
    """

    def __init__(self, text: str, marks: TurnMarks) -> None:
        self._marks = marks
        self._text = text
        self._spans: list[TextSpan] = []
        self._role: str | None = None
        self._last: str | None = None
        self._place = 0
        self._message = 0
        self._matches = marks.found_in(text)

    def read(self) -> list[TextSpan]:
        """Return the stretches in order."""
        self._begin()
        stop = self._prompt_start()
        for number, match in enumerate(self._matches):
            if self._place <= match.start < stop:
                self._meet(match, number)
        if self._role is None:
            self._between(stop)
        self._close(stop)
        if stop < len(self._text):
            self._add(len(self._text), "assistant", "generation prompt", -1)
        return self._spans

    def _begin(self) -> None:
        """Pass over BOS, and take what stands before any mark for a turn cut off."""
        first = next((m for m in self._matches if m.start == 0), None)
        if first is None or not (first.mark.openers or first.mark.begins):
            bos = 0
            while bos < len(self._text) and self._marks.is_bos(self._text[bos]):
                bos += 1
            self._add(bos, "", "added", -1)
            if self._cut(bos):
                self._role = ""

    def _cut(self, start: int) -> bool:
        """Whether a row begins within a turn: with a text that nothing opened."""
        first = next((m.start for m in self._matches if m.start >= start), None)
        said = self._text[start:first].strip()
        return bool(said) and not (start and self._marks.blank_openings)

    def _prompt_start(self) -> int:
        """Return where the opening of an answer that is still to be made begins."""
        for match in reversed(self._matches):
            if match.mark.core == self._marks.prompt.strip():
                rest = self._text[match.end :].strip()
                start = match.opened(self._text, "assistant")[0]
                return start if not rest and match.start else len(self._text)
        return len(self._text)

    def _meet(self, match: Match, number: int) -> None:
        """Do what a mark means where it stands, if it means anything there."""
        mark = match.mark
        ends = self._said_by(match.start) in {*mark.enders, *([""] * len(mark.enders))}
        if mark.begins and not ends and (mark.control or self._role is None):
            start, end = match.begun(self._text)
            self._leave(start)
            self._add(end, "", "added", -1)
            self._message, self._last = 0, None
            return
        if self._role is None:
            self._between(match.start)
        if self._role is None and mark.openers:
            self._open(match)
        elif self._role is None and mark.enders:
            self._role = self._blank_role()
        if self._role is not None and self._place <= match.start:
            self._within(match, number, self._role)

    def _said_by(self, place: int) -> str | None:
        """Return whose text stands before a place, ``None`` between turns."""
        between = self._role is None and self._text[self._place : place].strip()
        return self._blank_role() if between else self._role

    def _leave(self, place: int) -> None:
        if self._role is None:
            self._between(place)
        self._close(place)

    def _between(self, place: int) -> None:
        """Give a text behind the end of a turn to a role that nothing opens."""
        if self._text[self._place : place].strip():
            self._role = self._blank_role()
            if self._role is None:
                self._add(place, "", "added", -1)
                return
            opening = self._marks.blank_openings.get(self._role, "")
            if self._text.startswith(opening, self._place):
                end = self._place + len(opening)
                self._add(end, self._role, "header", self._message)

    def _blank_role(self) -> str | None:
        roles = [r for r in self._marks.blank_openings if r != self._last]
        if "assistant" in roles and len(roles) > 1 and self._last is not None:
            return "assistant"
        return roles[0] if len(roles) == 1 else "" if roles else None

    def _within(self, match: Match, number: int, role: str) -> None:
        mark = match.mark
        if mark.enders and (role in mark.enders or not role):
            if mark.control or self._leads_on(match, number):
                start, end = match.ended(self._text, role)
                only = list(mark.enders) if not role else [role]
                self._role = only[0] if len(only) == 1 else ""
                self._close(start, end)
        elif mark.openers and self._may_cut(match, role):
            self._close(self._opening(match)[1])
            self._open(match)

    def _leads_on(self, match: Match, number: int) -> bool:
        """Whether an end in plain text is followed by an opening, or by nothing."""
        later = self._matches[number + 1 :]
        after = next((m.start for m in later if m.mark.openers), len(self._text))
        return bool(self._marks.blank_openings) or not (
            self._text[match.end : after].strip()
        )

    def _may_cut(self, match: Match, role: str) -> bool:
        """Whether an opening counts though the turn before it was not ended."""
        if match.mark.control:
            return True
        start = self._opening(match)[1]
        ends = self._marks.blank_ends.get(role, [])
        ended = any(self._text.endswith(each, 0, start) for each in ends)
        return ended or not (ends or self._marks.closes(role))

    def _opening(self, match: Match) -> tuple[str, int, int]:
        """Return whose opening it is, from where to where."""
        roles = list(match.mark.openers)
        role = next((r for r in roles if r != self._last), roles[0])
        return role, *match.opened(self._text, role)

    def _open(self, match: Match) -> None:
        role, start, end = self._opening(match)
        if self._text[self._place : start].strip():
            self._add(start, "", "added", -1)
        self._add(end, role, "header", self._message)
        self._role = role

    def _close(self, stop: int, end: int | None = None) -> None:
        """Give the text up to ``stop`` to the open turn, and the rest to its end."""
        role = self._role
        if role is None:
            return
        if end is None:
            blank = self._marks.blank_ends.get(role, [])
            stops = [len(e) for e in blank if self._text.endswith(e, 0, stop)]
            stop, end = stop - max(stops, default=0), stop
        self._add(stop, role, "text", self._message)
        self._add(end, role, "end", self._message)
        self._role, self._last = None, role
        self._message += 1

    def _add(self, end: int, role: str, part: Part, message: int) -> None:
        if end > self._place:
            self._spans.append(TextSpan(self._place, end, role, message, part))
            self._place = end
