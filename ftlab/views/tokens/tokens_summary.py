"""What the token view says of each row, worked out once over whole columns."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ftlab.records.token_row import IGNORED, Piece, TokenBatch, TokenRow

VISIBLE = {" ": "·", "\n": "↵", "\t": "→", "\r": "␍"}
JOINERS = "\u200c\u200d"
"""They join parts of an emoji, and shape letters, between two such characters."""
PART = "⋯"
"""Stands for a token that goes on with the character before it."""
BROKEN = "\ufffd"
"""What a decoder writes for bytes that are no character; the piece says more."""
KINDS = ("context", "trained", "padding", "odd")
"""What a token is to the training: read only, trained, not attended to, or both
trained and not attended to."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One row, and what stands where in it.

    Attributes
    ----------
    name
        The row's source, or ``"sample 0"``.
    padding, side
        Positions outside attention (or, without a mask, of the pad token at the ends),
        and ``left``, ``right``, ``on both sides``, ``inside`` or ``everywhere``.
    kinds
        By position, an index of `KINDS`.
    special
        By position, which special tokens stand there; only the positions that do.
    eos_trained
        Whether the last EOS within attention has a label; ``None`` when there is none.
    roles
        Tokens by role, in the order of their first turns.
    """

    row: TokenRow
    name: str
    padding: NDArray[np.bool_]
    side: str
    kinds: NDArray[np.uint8]
    special: Mapping[str, NDArray[np.int64]]
    eos_trained: bool | None
    roles: Mapping[str, int]

    @property
    def trained(self) -> int | None:
        """How many positions are trained; ``None`` without labels per token."""
        return None if self.row.labels is None else int(self.row.trained.sum())

    @property
    def segments(self) -> int:
        """Documents packed into the row."""
        if self.row.segments is None:
            return 1
        kept = self.row.segments[self.row.segments >= 0]
        return max(1, len(np.unique(kept)))


@dataclass(frozen=True, slots=True, eq=False)
class TokenSummary:
    """All rows of a batch.

    Attributes
    ----------
    texts
        What distinct ids are shown as.
    faults
        What is wrong with the rows, each in a line.
    """

    batch: TokenBatch
    samples: tuple[Sample, ...]
    texts: Mapping[int, str]
    faults: tuple[str, ...] = ()

    def texts_of(self, row: TokenRow) -> list[str]:
        """Return what each position of ``row`` is shown as."""
        known = self.texts
        shown = [known[each] for each in row.ids.tolist()]
        for at, text in row.texts.items():
            shown[at] = self.joined(row, at, text)
        return shown

    def stretch(self, row: TokenRow, start: int, end: int) -> str:
        """Return what some positions of ``row`` say together.

        Characters that several tokens hold, and emoji of several characters, are whole.
        """
        pieces = self.batch.pieces
        words = []
        for at, each in enumerate(row.ids[start:end].tolist(), start):
            piece = pieces[each]
            words.append(row.texts.get(at, piece.text or piece.piece))
        return visible("".join(words))

    def joined(self, row: TokenRow, at: int, text: str) -> str:
        """Return what a part of a character is shown as, of which ``text`` is known."""
        if text.strip(BROKEN):
            return visible(text)
        return self.texts[int(row.ids[at])] if text else PART


def visible(text: str) -> str:
    r"""Write white space and control characters so that they can be seen.

    What joins an emoji or shapes letters of other scripts is left where it does so.

    Examples
    --------
    >>> from ftlab.views.tokens.tokens_summary import visible
    >>> visible(" a" + chr(10)), visible("a" + chr(0x200B))
    ('·a↵', 'a\\u200b')
    """
    if text.isprintable():
        return text.replace(" ", "·")
    return "".join(
        VISIBLE.get(one)
        or (one if one.isprintable() or _joins(text, at) else _escaped(one))
        for at, one in enumerate(text)
    )


def _joins(text: str, at: int) -> bool:
    if text[at] not in JOINERS:
        return False
    before, after = text[max(0, at - 1) : at], text[at + 1 : at + 2]
    return all(each > "\x7f" and each.isprintable() for each in (before, after))


def _escaped(one: str) -> str:
    return one.encode("unicode_escape").decode("ascii")


def shown_piece(piece: Piece) -> str:
    """Return a piece's text, or the piece itself where it is a part of a character."""
    lacking = piece.piece == "?" and piece.text.startswith("? id ")
    return piece.text if lacking else visible(piece.text or piece.piece)


def summarise_tokens(batch: TokenBatch) -> TokenSummary:
    """Work out what is said of each row of ``batch``."""
    samples = [_sample(row, at, batch) for at, row in enumerate(batch.rows)]
    texts = {one: shown_piece(piece) for one, piece in batch.pieces.items()}
    for row in batch.rows:
        for column in (row.ids, row.labels):
            for one in () if column is None else np.unique(column).tolist():
                texts.setdefault(one, f"? id {one}")
    return TokenSummary(batch, tuple(samples), texts)


def _sample(row: TokenRow, at: int, batch: TokenBatch) -> Sample:
    hidden = _padding(row, batch)
    kinds = row.trained.astype(np.uint8) + 2 * hidden.astype(np.uint8)
    inside = ~hidden
    special = {
        name: np.flatnonzero(np.isin(row.ids, list(ids)) & inside)
        for name, ids in batch.special.items()
        if ids
    }
    ends = special.get("eos", np.zeros(0, np.int64))
    known = row.labels is not None and len(ends) > 0
    return Sample(
        row,
        row.source or f"sample {at}",
        hidden,
        _side(hidden),
        kinds,
        special,
        bool(row.trained[ends[-1]]) if known else None,
        _roles(row),
    )


def _padding(row: TokenRow, batch: TokenBatch) -> NDArray[np.bool_]:
    if row.attention is not None:
        return row.attention == 0
    ends = batch.special.get("eos", frozenset())
    pads = batch.special.get("pad", frozenset()) - ends
    other = np.flatnonzero(~np.isin(row.ids, list(pads)))
    hidden = np.ones(len(row.ids), bool)
    if len(other):
        hidden[other[0] : other[-1] + 1] = False
    return hidden if pads else np.zeros(len(row.ids), bool)


def _side(hidden: NDArray[np.bool_]) -> str:
    if not hidden.any():
        return ""
    inner = np.flatnonzero(~hidden)
    if not len(inner):
        return "everywhere"
    if hidden[inner[0] : inner[-1]].any():
        return "inside"
    before, after = inner[0] > 0, inner[-1] < len(hidden) - 1
    return "on both sides" if before and after else "left" if before else "right"


def _roles(row: TokenRow) -> dict[str, int]:
    found: dict[str, int] = {}
    for turn in row.turns:
        role = turn.role or "no role"
        found[role] = found.get(role, 0) + turn.end - turn.start
    return found


def turn_numbers(row: TokenRow) -> NDArray[np.int64]:
    """Return for each position the index of its turn, -1 outside of all."""
    numbers = np.full(len(row.ids), -1, np.int64)
    for number, turn in enumerate(row.turns):
        numbers[turn.start : turn.end] = number
    return numbers


def learnt(row: TokenRow, texts: Mapping[int, str]) -> list[str]:
    """Return what each position is trained to say next; ``""`` where nothing."""
    said = [""] * len(row.ids)
    if row.labels is not None:
        for at in (np.flatnonzero(row.labels[1:] != IGNORED)).tolist():
            said[at] = texts[int(row.labels[at + 1])]
    return said


def plain(text: str, most: int = 60) -> str:
    """Write ``text`` in one line of visible characters, cut to ``most``."""
    shown = re.sub("\n+", "↵", visible(text))
    return shown if len(shown) <= most else shown[: most - 1] + "…"
