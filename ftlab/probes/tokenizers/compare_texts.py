"""Two tokenizers over the same texts: ids, unknown tokens, the first difference."""

import re
from collections import Counter
from dataclasses import dataclass
from itertools import zip_longest

from ftlab.probes.tokenizers.piece_bytes import vocabulary_bytes
from ftlab.probes.tokenizers.reader import Reader
from ftlab.probes.tokenizers.text_spans import Spans, text_spans
from ftlab.records.tokenizer_diff import Moved, Side, TextDifference, Token

ABOUT = 24
"""Characters on either side of a difference that are kept."""
SHOWN = 12
"""Ids that stand for another piece are counted, and so many of them named."""
PROBE = "a"
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Encoded:
    """One text as ids, with the characters that each stands for."""

    ids: list[int]
    spans: Spans


class Encoder:
    """Encodes texts with one tokenizer, and counts what it makes of them."""

    def __init__(self, name: str, reader: Reader) -> None:
        self.name = name
        self.bytes = vocabulary_bytes(reader)
        self._reader = reader
        self._unknown = reader.unknown()
        self._counts = Counter[str]()

    def encode(self, text: str) -> Encoded:
        """Encode a text, and count it."""
        ids, told = self._reader.encoded(text)
        spans = told if told is not None else self._spans(text, ids)
        known = (
            bytearray(len(text)) if told is not None else bytearray(b"\1") * len(text)
        )
        for number, (start, end) in zip(ids, spans, strict=True):
            known[start:end] = bytes([number not in self._unknown]) * (end - start)
        self._count(text, ids, spans, known)
        return Encoded(ids, spans)

    def side(self) -> Side:
        """Return what was counted."""
        before, behind = self._around()
        return Side(self.name, before=before, behind=behind, **self._counts)

    def piece(self, number: int) -> str:
        """Return what an id stands for as text."""
        return self.bytes.get(number, b"?").decode("utf-8", "backslashreplace")

    def _spans(self, text: str, ids: list[int]) -> Spans:
        pieces = (None if i in self._unknown else self.bytes.get(i, b"") for i in ids)
        return text_spans(text, list(pieces))

    def _count(self, text: str, ids: list[int], spans: Spans, known: bytearray) -> None:
        words = [each.span() for each in _WORD.finditer(text)]
        ends = {end: start for start, end in spans}
        self._counts.update(
            tokens=len(ids),
            unknown=sum(each in self._unknown for each in ids),
            characters=sum(end - start for start, end in words),
            covered=sum(sum(known[start:end]) for start, end in words),
            words=len(words),
            whole=sum(
                ends.get(end, end) <= start and all(known[start:end])
                for start, end in words
            ),
            restored=int(self._reader.decoded(ids) == text),
        )

    def _around(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        inner, _ = self._reader.encoded(PROBE)
        whole = self._reader.ids(PROBE)
        for at in range(len(whole) - len(inner) + 1):
            if whole[at : at + len(inner)] == inner:
                rest = whole[:at], whole[at + len(inner) :]
                before, behind = (tuple(map(self.piece, each)) for each in rest)
                return before, behind
        return (), ()


def first_difference(
    number: int, text: str, left: Encoder, right: Encoder
) -> TextDifference | None:
    """Encode a text on both sides, and return where the ids first differ."""
    one, two = left.encode(text), right.encode(text)
    if one.ids == two.ids:
        return None
    pairs = enumerate(zip_longest(one.ids, two.ids))
    position = next(at for at, (some, other) in pairs if some != other)
    tokens = (
        _token(left, one, position, len(text)),
        _token(right, two, position, len(text)),
    )
    character = min(each.start for each in tokens)
    same = [left.bytes.get(i) for i in one.ids] == [right.bytes.get(i) for i in two.ids]
    start = max(0, character - ABOUT)
    return TextDifference(
        number,
        position,
        character,
        *tokens,
        near=text[start : character + ABOUT],
        same_pieces=same,
    )


def moved(left: Encoder, right: Encoder) -> Moved:
    """Return the ids that stand for another piece on either side."""
    some, others = left.bytes, right.bytes
    both = sorted(some.keys() & others.keys())
    unlike = [each for each in both if some[each] != others[each]]
    first = tuple((i, left.piece(i), right.piece(i)) for i in unlike[:SHOWN])
    return Moved(
        len(unlike), first, len(some.keys() - others.keys()), len(others.keys() - some)
    )


def _token(encoder: Encoder, encoded: Encoded, position: int, end: int) -> Token:
    if position >= len(encoded.ids):
        return Token(None, "", end, end)
    number = encoded.ids[position]
    return Token(number, encoder.piece(number), *encoded.spans[position])
