"""Where in a text the tokens of a tokenizer without offsets stand."""

from collections.abc import Sequence

import numpy as np

Spans = list[tuple[int, int]]

REACH, NEAR = 64, 16
"""Bytes that are searched for a piece behind an unknown one, and behind a known one."""


def text_spans(text: str, pieces: Sequence[bytes | None]) -> Spans:
    """Find the characters that each token stands for.

    Parameters
    ----------
    pieces
        The tokens as bytes, ``None`` for the unknown token.

    Returns
    -------
    list
        First character and the one behind the last. An unknown token stands for what
        lies between its neighbours; a piece that is not found, since the text was
        rewritten, for nothing.

    Examples
    --------
    >>> from ftlab.probes.tokenizers.text_spans import text_spans
    >>> text_spans("né x", [b" n", bytes([0xC3]), bytes([0xA9]), None])
    [(0, 1), (1, 2), (1, 2), (2, 4)]
    """
    data = text.encode("utf-8", "surrogatepass")
    found: list[list[int]] = []
    at, waiting = 0, 0
    for piece in pieces:
        if piece is None:
            found.append([at, at])
            waiting += 1
            continue
        start, length = _place(data, piece, at, waiting > 0)
        found.append([start, start + length])
        if length and waiting:
            found[-1 - waiting][1] = start
        waiting = 0 if length else waiting
        at = start + length
    if waiting:
        found[-waiting][1] = len(data)
    return _in_characters(data, found)


def _place(data: bytes, piece: bytes, at: int, gap: bool) -> tuple[int, int]:
    """Return where a piece stands and how long it is, nothing where it is not found."""
    if not gap:
        for each in (piece, piece[1:] if piece.startswith(b" ") else b""):
            if each and data.startswith(each, at):
                return at, len(each)
    reach = REACH if gap else NEAR
    spot = data.find(piece, at, at + reach + len(piece)) if piece else -1
    return (spot, len(piece)) if spot >= 0 else (at, 0)


def _in_characters(data: bytes, spans: list[list[int]]) -> Spans:
    begins = (np.frombuffer(data, np.uint8) & 0xC0) != 0x80
    before = np.concatenate(([0], np.cumsum(begins))).tolist()
    return [
        (
            before[start + 1] - 1
            if start < len(data) and end > start
            else before[start],
            before[end],
        )
        for start, end in spans
    ]
