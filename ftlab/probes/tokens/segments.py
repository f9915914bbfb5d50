"""Which document of a packed row each position belongs to, as the batch tells it.

Only what a collator hands over counts: cumulated lengths, numbers of sequences, a mask
that numbers its documents, positions that begin anew. From BOS or EOS nothing is
guessed here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.probes.tokens.columns import Numbers, rows_of

STARTS = ("cu_seq_lens_q", "cu_seqlens_q", "cu_seq_lens", "cu_seqlens")
"""Names under which collators hand over where documents begin."""
PADDING = -1

Ids = NDArray[np.int64]
Marks = NDArray[np.bool_]


def padding_of(
    ids: Ids,
    attention: Ids | None,
    labels: Ids | None,
    special: Mapping[str, frozenset[int]],
) -> Marks:
    """Tell what is padding: what the mask hides or, without one, pads at the ends.

    Where PAD is EOS too, only a run without labels behind the first of them is padding,
    and without labels nothing is.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.probes.tokens.segments import padding_of
    >>> ids = np.array([5, 6, 0, 0])
    >>> padding_of(ids, None, None, {"pad": frozenset({0})}).tolist()
    [False, False, True, True]
    """
    if attention is not None:
        return attention == 0
    pad, eos = special.get("pad", frozenset()), special.get("eos", frozenset())
    pads = np.isin(ids, list(pad)) if pad else np.zeros(len(ids), dtype=bool)
    if pads.all():
        return pads if not pad & eos else np.zeros(len(ids), dtype=bool)
    first, last = int(np.argmin(pads)), len(pads) - int(np.argmin(pads[::-1]))
    if pad & eos:
        if labels is None:
            return np.zeros(len(ids), dtype=bool)
        pads &= labels < 0
        first, last = 0, min(len(pads), last + 1)
    pads[first:last] = False
    return pads


def told_starts(columns: Mapping[str, Any], ids: Sequence[Ids]) -> list[Marks] | None:
    """Mark the beginnings of documents that lengths or numbers tell, row by row."""
    lengths = next((columns[n] for n in STARTS if columns.get(n) is not None), None)
    if lengths is not None:
        listed = rows_of(lengths)
        return None if not listed else _by_lengths(listed, [len(row) for row in ids])
    numbers = columns.get("seq_idx")
    rows = None if numbers is None else rows_of(numbers)
    if rows is None or [len(row) for row in rows] != [len(row) for row in ids]:
        return None
    return [_changes(row) for row in rows]


def _by_lengths(listed: list[Numbers], lengths: list[int]) -> list[Marks]:
    """Cumulated lengths count through rows laid end to end, or in each row anew."""
    own = len(listed) == len(lengths) > 1
    marks = []
    before = 0
    for at, length in enumerate(lengths):
        starts = listed[at] if own else listed[0] - before
        row = np.zeros(length, dtype=bool)
        row[starts[(starts > 0) & (starts < length)].astype(int)] = True
        marks.append(row)
        before += length
    return marks


def segments_of(
    hidden: Marks, told: Marks | None, attention: Ids | None, positions: Ids | None
) -> NDArray[np.int32]:
    """Give each document of a row its number, from 0, and padding -1.

    Parameters
    ----------
    hidden
        What is padding.
    told
        Where documents begin, see `told_starts`.
    attention
        A mask with numbers above 1 gives each document its own.
    positions
        A document begins where they do not grow.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.probes.tokens.segments import segments_of
    >>> hidden = np.array([False, False, False, False, True])
    >>> segments_of(hidden, None, None, np.array([0, 1, 0, 1, 0])).tolist()
    [0, 0, 1, 1, -1]
    """
    real = ~hidden
    begins = np.zeros(len(hidden), dtype=bool)
    if told is not None:
        begins = told & real
    elif attention is not None and attention.max(initial=0) > 1:
        begins = _changes(attention) & real
    elif positions is not None:
        begins[1:] = (positions[1:] <= positions[:-1]) & real[1:] & real[:-1]
    numbers = np.cumsum(begins).astype(np.int32)
    if real.any():
        numbers -= numbers[real][0]
    numbers[hidden] = PADDING
    return numbers


def _changes(numbers: Numbers) -> Marks:
    changed = np.zeros(len(numbers), dtype=bool)
    changed[1:] = numbers[1:] != numbers[:-1]
    return changed
