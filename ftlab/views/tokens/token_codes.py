"""Rows of tokens in few bytes, for the browser: distinct pieces and binary columns.

`tokens.js` reads what `window` makes. A window is a stretch of one row; columns that
say nothing (no losses, weights that are all 1, positions that count from 0) are left
out.
"""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.records.token_row import IGNORED
from ftlab.views.tokens.tokens_summary import Sample, TokenSummary, visible

WIDTH = 8_192
"""Tokens that a window holds at most."""
ROOM = 230_000
"""Bytes that one window may take; what is larger is halved."""
MOST = 64
"""Rows whose beginnings are sent before anyone asks."""
LONGEST = 160
"""Characters of a piece that are sent."""


def windows(summary: TokenSummary, room: int) -> dict[str, dict[str, Any]]:
    """Return the windows that are sent at first: as many rows as ``room`` bytes hold.

    The first row comes first, as much of it as one window holds.
    """
    sent: dict[str, dict[str, Any]] = {}
    for number in range(min(MOST, len(summary.samples))):
        made = window(summary, number, 0)
        room -= size_of(made)
        if room < 0:
            break
        sent[f"{number} 0"] = made
    return sent


def size_of(made: dict[str, Any]) -> int:
    """Return how many bytes a window takes on its way."""
    columns = sum(len(v) for v in made.values() if isinstance(v, bytes))
    return columns + len(json.dumps(made["head"]))


def window(summary: TokenSummary, number: int, start: int) -> dict[str, Any]:
    """Code the stretch of a row that begins at ``start``."""
    width = WIDTH
    made = _coded(summary, number, start, width)
    while size_of(made) > ROOM and width > 64:
        width //= 2
        made = _coded(summary, number, start, width)
    return made


def _coded(
    summary: TokenSummary, number: int, start: int, width: int
) -> dict[str, Any]:
    sample = summary.samples[number]
    row = sample.row
    stop = min(len(row.ids), start + width)
    span = slice(start, stop)
    ids = row.ids[span]
    labels = None if row.labels is None else row.labels[start : stop + 1]
    following = row.ids[start : stop + 1]
    # the page does not hold the token after the window, which the last one may learn
    beyond = stop < len(row.ids) and bool(row.trained[stop])
    other = _other_labels(following, labels, beyond=beyond)
    distinct = np.unique(ids if other is None else np.concatenate([ids, other]))
    turns = [
        [max(t.start, start), min(t.end, stop), t.role[:60], t.message, t.part]
        for t in row.turns
        if t.start < stop and t.end > start
    ]
    texts = {
        str(at): _cut(summary.joined(row, at, text))
        for at, text in row.texts.items()
        if start <= at < stop
    }
    head = {
        "row": number,
        "start": start,
        "stop": stop,
        "pieces": [_piece(summary, each) for each in distinct.tolist()],
        "turns": turns,
        "texts": texts,
    }
    made: dict[str, Any] = {"head": head}
    made["index"] = np.searchsorted(distinct, ids).astype("<u2").tobytes()
    made["flags"] = _flags(sample, start, stop).tobytes()
    if other is not None:
        made["labels"] = np.searchsorted(distinct, other).astype("<u2").tobytes()
    return made | _numbers(sample, span)


def _other_labels(
    ids: NDArray[np.int64], labels: NDArray[np.int64] | None, *, beyond: bool
) -> NDArray[np.int64] | None:
    """Return labels, ids where none counts; ``None`` where all say their own token."""
    if labels is None:
        return None
    filled = np.where(labels == IGNORED, ids, labels)
    return filled if beyond or bool((filled != ids).any()) else None


def _flags(sample: Sample, start: int, stop: int) -> NDArray[np.uint8]:
    """Kind in 2 bits; then: has a label, is the next one trained, has attention."""
    row = sample.row
    trained = np.concatenate([row.trained, [False]])
    flags = sample.kinds[start:stop].copy()
    flags |= (row.labels is not None) * np.uint8(4)
    flags |= trained[start + 1 : stop + 1].astype(np.uint8) * np.uint8(8)
    if row.attention is not None:
        flags |= np.uint8(16)
        flags |= (row.attention[start:stop] != 0).astype(np.uint8) * np.uint8(32)
    return flags.astype(np.uint8)


def _numbers(sample: Sample, span: slice) -> dict[str, bytes]:
    row = sample.row
    made = {}
    if row.positions is not None:
        made["positions"] = row.positions[span].astype("<i4").tobytes()
    if row.segments is not None and len(np.unique(row.segments[row.segments >= 0])) > 1:
        made["segments"] = row.segments[span].astype("<i2").tobytes()
    if row.weights is not None and bool((row.weights[row.trained] != 1).any()):
        made["weights"] = row.weights[span].astype("<f4").tobytes()
    if row.losses is not None and bool(np.isfinite(row.losses).any()):
        made["losses"] = row.losses[span].astype("<f4").tobytes()
    return made


def _piece(summary: TokenSummary, each: int) -> list[Any]:
    """Return id, shown text, the vocabulary's spelling where it differs, and flags."""
    piece = summary.batch.pieces.get(each)
    text = _cut(summary.texts[each])
    if piece is None:
        return [each, text, "?", ""]
    spelt = _cut(visible(piece.piece))
    spelt = "" if spelt in (text, text.replace("·", "Ġ")) else spelt
    return [each, text, spelt, " ".join(sorted(piece.special))]


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
