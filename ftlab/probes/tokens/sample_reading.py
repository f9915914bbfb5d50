"""Makes facts of the samples in a batch whose arrays are on the host."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ftlab.probes.tokens.twice import twice_in
from ftlab.records.sample_facts import NOTHING, TEXT, Control, SampleFacts, Stretch
from ftlab.records.token_row import IGNORED

LIMIT = 32
"""Control tokens and trained stretches of a sample that are kept."""

EDGE = 8
"""First and last tokens of a sample that are kept."""

BORDER = 6
"""Tokens of a sample that are kept before the first that is trained."""

DOCUMENTS = 64
"""Documents of a packed row that are looked at."""

FOREIGN, COMPARED = 0.5, 4
"""Share of own tokens below which labels are another text, and the labels
that it takes to say whose."""

Ids = NDArray[np.int64]
Special = Mapping[str, frozenset[int]]


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """One row of a batch; ``None`` for what the batch does not have."""

    ids: Ids
    labels: Ids | None = None
    attention: Ids | None = None
    positions: Ids | None = None


Row = tuple[int, int, Columns]
"""Micro-batch, row, and what stands there."""


def samples_in_batch(rows: Sequence[Row], special: Special) -> Iterator[SampleFacts]:
    """Yield the samples of all rows of a step, micro-batch by micro-batch."""
    for _, group in itertools.groupby(rows, key=lambda row: row[0]):
        together = list(group)
        for micro, number, columns in together:
            for sample in samples_in(columns, special, number, micro):
                yield replace(sample, labels_of=_owner(sample, columns, together))


def samples_in(
    columns: Columns, special: Special, row: int, micro_batch: int
) -> Iterator[SampleFacts]:
    """Yield the samples of one row: several where its positions begin anew."""
    start, end, exact = _extent(columns, special)
    borders = _borders(columns, start, end)
    labels = columns.labels
    trained = np.zeros(len(columns.ids), bool) if labels is None else labels != IGNORED
    outside = int(trained[:start].sum() + trained[end:].sum())
    controls = np.isin(columns.ids, list(special.get("control", ())))
    for first, last in borders[:DOCUMENTS]:
        part = slice(first, last)
        ids = columns.ids[part]
        same, ahead, unlike = _agreement(columns, trained, first, last)
        border = _border(ids, trained[part])
        again, place = _again(ids, trained[part], border)
        yield SampleFacts(
            row=row,
            micro_batch=micro_batch,
            start=first,
            end=last,
            exact=exact,
            width=len(columns.ids),
            documents=len(borders),
            labelled=labels is not None,
            trained=int(trained[part].sum()),
            stretches=tuple(_stretches(columns.ids, trained, controls, first, last)),
            controls=_controls(columns.ids, trained, controls, first, last),
            hidden=_hidden(columns, trained, controls, first, last),
            same=same,
            ahead=ahead,
            unlike=unlike,
            padding_trained=outside if exact else 0,
            pooled=_pooled(columns, special) if exact else -1,
            position=-1 if columns.positions is None else int(columns.positions[first]),
            head=tuple(ids[:EDGE].tolist()),
            tail=tuple(ids[-EDGE:].tolist()),
            border=border,
            again=again,
            again_at=place + first if again else -1,
            twice=twice_in(ids, controls[part], first),
        )


def _again(
    ids: Ids, trained: NDArray[np.bool_], border: Sequence[int]
) -> tuple[int, int]:
    """Return how much of a border stands within what is trained, and what is behind."""
    before = border[:-1]
    known, place = 0, -1
    ends = np.arange(len(ids))
    for length, number in enumerate(reversed(before), 1):
        at = ends - length + 1
        fits = (at >= 0) & (ids[at] == number) & trained[at]
        ends = ends[fits]
        if not len(ends):
            break
        known, place = length, int(ends[0]) + 1
    return (known, place) if known > 1 else (0, -1)


def is_foreign(sample: SampleFacts) -> bool:
    """Tell whether the labels of a sample are another text than its own."""
    if not sample.trained:
        return sample.padding_trained > 0
    return max(sample.same, sample.ahead) < FOREIGN


def _owner(sample: SampleFacts, columns: Columns, together: Sequence[Row]) -> int:
    """Return the other row whose tokens the labels of a sample are, or -1."""
    if columns.labels is None or not is_foreign(sample):
        return -1
    counted = np.flatnonzero(columns.labels != IGNORED)
    if len(counted) < COMPARED:
        return -1
    labels = columns.labels[counted]
    for _, number, other in together:
        fits = number != sample.row and counted[-1] < len(other.ids)
        if fits and np.array_equal(other.ids[counted], labels):
            return number
    return -1


def _extent(columns: Columns, special: Special) -> tuple[int, int, bool]:
    """Give where a row begins and ends, and whether that is certain."""
    ids, length = columns.ids, len(columns.ids)
    if columns.attention is not None:
        held = np.flatnonzero(columns.attention)
        return (int(held[0]), int(held[-1]) + 1, True) if len(held) else (0, 0, True)
    pads, ends = special.get("pad", frozenset()), special.get("stop", frozenset())
    held = np.flatnonzero(~np.isin(ids, list(pads)))
    if not len(held):
        return 0, length, False
    if pads & (ends | special.get("eos", frozenset())):
        padded = len(held) < length and held[-1] + 1 < length
        return 0, length, not padded
    return int(held[0]), int(held[-1]) + 1, True


def _pooled(columns: Columns, special: Special) -> int:
    """Return the hidden position that a classifier reads, or -1."""
    pads = special.get("pooling")
    if not pads or columns.attention is None:
        return -1
    known = np.flatnonzero(~np.isin(columns.ids, list(pads)))
    hidden = len(known) > 0 and not columns.attention[known[-1]]
    return int(known[-1]) if hidden else -1


def _borders(columns: Columns, start: int, end: int) -> list[tuple[int, int]]:
    if start == end:
        return []
    if columns.positions is None:
        return [(start, end)]
    follows = np.diff(columns.positions[start:end]) == 1
    cuts = [start, *(np.flatnonzero(~follows) + start + 1).tolist(), end]
    return list(itertools.pairwise(cuts))


def _border(ids: Ids, trained: NDArray[np.bool_]) -> tuple[int, ...]:
    first = int(trained.argmax())
    return tuple(ids[max(0, first - BORDER) : first + 1].tolist() if first else ())


def _agreement(
    columns: Columns, trained: NDArray[np.bool_], first: int, last: int
) -> tuple[float, float, int]:
    """Compare labels with the tokens at their positions, and with those behind."""
    if columns.labels is None:
        return -1.0, -1.0, -1
    labels, ids = columns.labels[first:last], columns.ids[first:last]
    counted = trained[first:last]
    here, behind = labels == ids, labels[:-1] == ids[1:]
    unlike = np.flatnonzero(counted & ~here & ~np.append(behind, False))
    here, behind = here[counted], behind[counted[:-1]]
    return (
        float(here.mean()) if len(here) else -1.0,
        float(behind.mean()) if len(behind) else -1.0,
        first + int(unlike[0]) if len(unlike) else -1,
    )


def _stretches(
    ids: Ids,
    trained: NDArray[np.bool_],
    controls: NDArray[np.bool_],
    first: int,
    last: int,
) -> Iterator[Stretch]:
    edges = np.diff(trained[first:last].astype(np.int8), prepend=0, append=0)
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    for start, end in zip(starts[:LIMIT].tolist(), ends.tolist(), strict=False):
        place = first + end
        after = NOTHING if place >= last else TEXT
        if place < last and controls[place]:
            after = int(ids[place])
        yield Stretch(first + start, place, after)


def _controls(
    ids: Ids,
    trained: NDArray[np.bool_],
    controls: NDArray[np.bool_],
    first: int,
    last: int,
) -> tuple[Control, ...]:
    found = np.flatnonzero(controls[first:last]) + first
    kept = found if len(found) <= LIMIT else np.r_[found[: LIMIT // 2], found[-16:]]
    return tuple(Control(p, int(ids[p]), bool(trained[p])) for p in kept.tolist())


def _hidden(
    columns: Columns,
    trained: NDArray[np.bool_],
    controls: NDArray[np.bool_],
    first: int,
    last: int,
) -> tuple[Control, ...]:
    """Return control tokens that are hidden while both of their neighbours are seen."""
    if columns.attention is None:
        return ()
    seen = columns.attention[first:last] != 0
    alone = ~seen[1:-1] & seen[:-2] & seen[2:] & controls[first + 1 : last - 1]
    found = (np.flatnonzero(alone) + first + 1)[:LIMIT].tolist()
    return tuple(Control(p, int(columns.ids[p]), bool(trained[p])) for p in found)
