"""Rows of tokens out of a batch, whatever its collator made of them.

`read_batch` reads each column once (`ftlab.probes.tokens.columns`), numbers the packed
documents (`ftlab.probes.tokens.segments`), looks each id up once
(`ftlab.probes.tokens.pieces`) and finds the turns (`ftlab.probes.tokens.turns`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.probes.tokens.columns import (
    as_mask,
    flat_columns,
    ids_of,
    is_flat,
    per_token,
    rows_of,
    said_shape,
)
from ftlab.probes.tokens.pieces import PieceBook
from ftlab.probes.tokens.segments import padding_of, segments_of, told_starts
from ftlab.probes.tokens.turns import turns_in
from ftlab.probes.tokens.unknown_ids import unknown_remarks
from ftlab.records.errors import BadValueError
from ftlab.records.template import TemplateFacts
from ftlab.records.token_row import IGNORED, TokenBatch, TokenRow

_IDS = "input_ids"
_NO_IDS = ("position_ids", "token_type_ids", "label_ids", "sample_ids", "example_ids")
MASKS = ("completion_mask", "assistant_masks", "assistant_mask")
"""Columns of which collators make labels: 1 where a token is trained."""
WEIGHTS = (
    "loss_weights",
    "loss_weight",
    "label_weights",
    "token_weights",
    "sample_weights",
    "weights",
)
"""Names under which a batch says what its labels count."""


def read_batch(
    batch: Any, tokenizer: Any = None, *, facts: TemplateFacts | None = None
) -> TokenBatch:
    """Read what a data loader yields, without changing it.

    Parameters
    ----------
    batch
        A mapping with ``input_ids`` in rows and, where there are, ``attention_mask``,
        ``labels``, ``position_ids`` and others. Tensors on any device, arrays or lists.
        Columns with a word before ``input_ids`` (``chosen_input_ids``) give rows of
        their own.
    tokenizer
        Gives pieces and special tokens; without it, ids stand for themselves.
    facts
        What its chat template writes around messages, for the turns.

    Raises
    ------
    BadValueError
        Nothing in it holds token ids in rows.

    Examples
    --------
    >>> from ftlab.probes.tokens.rows import read_batch
    >>> made = read_batch({"input_ids": [[1, 5, 2]], "labels": [[-100, 5, 2]]})
    >>> made.rows[0].trained.tolist()
    [False, True, True]
    >>> made.remarks
    ('attention_mask not in the batch',)
    >>> read_batch({})
    Traceback (most recent call last):
    ...
    ftlab.records.errors.BadValueError: The batch has no input_ids; it holds nothing. \
Pass what the data loader yields: ftlab.tokens(batch=next(iter(loader))).
    """
    columns = flat_columns(batch)
    book = PieceBook(tokenizer, facts)
    parts = [_Part(name, of) for name, of in _kinds(columns)]
    if not parts:
        held = ", ".join(sorted(k for k, v in columns.items() if v is not None))
        held = held or (f"None as {', '.join(columns)}" if columns else "nothing")
        msg = (
            f"The batch has no input_ids; it holds {held}. Pass what the data loader "
            "yields: ftlab.tokens(batch=next(iter(loader)))."
        )
        raise BadValueError(msg)
    book.look_up(_distinct(parts, facts))
    rows = [row for part in parts for row in part.rows(book, facts)]
    remarks = dict.fromkeys(remark for part in parts for remark in part.remarks)
    said = (*unknown_remarks(rows, book.unknown), *remarks)
    return TokenBatch(tuple(rows), book.pieces, book.special, said)


def _kinds(columns: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the groups of columns that belong together: prefix, and plain names."""
    if columns.get(_IDS) is not None:
        yield "", dict(columns)
    for name in columns:
        prefix = _prefix(name)
        if prefix and columns[name] is not None:
            own = {
                _IDS if key == name else key.removeprefix(prefix): value
                for key, value in columns.items()
                if key.startswith(prefix)
            }
            yield prefix.removesuffix("_"), own


def _prefix(name: str) -> str:
    if name.endswith(f"_{_IDS}") and not name.startswith("decoder_"):
        return name.removesuffix(_IDS)
    if name.endswith("_ids") and name not in (_IDS, *_NO_IDS):
        known = ("prompt_", "chosen_", "rejected_", "completion_")
        return next((each for each in known if name == f"{each}ids"), "")
    return ""


@dataclass(slots=True)
class _Part:
    """Columns of one kind of rows."""

    kind: str
    columns: dict[str, Any]
    ids: list[NDArray[np.int64]] = field(init=False)
    labels: list[NDArray[np.int64] | None] = field(init=False)
    remarks: list[str] = field(init=False, default_factory=list)
    targets: list[NDArray[np.int64]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.ids = ids_of(self.columns[_IDS], f"{self.kind}_{_IDS}".lstrip("_"))
        self.labels = self._labels()

    def rows(self, book: PieceBook, facts: TemplateFacts | None) -> Iterator[TokenRow]:
        """Yield the rows, and after them those of a decoder's targets."""
        masks = self._column("attention_mask")
        if self.columns.get("attention_mask") is None and "attention_mask" not in (
            self.remarks
        ):
            self.remarks.insert(0, "attention_mask not in the batch")
        positions = self._column("position_ids")
        told = told_starts(self.columns, self.ids)
        weights = self._weights()
        for at, ids in enumerate(self.ids):
            mask, labels = as_mask(masks[at]), self.labels[at]
            places = None if positions[at] is None else positions[at].astype(np.int64)
            hidden = padding_of(ids, mask, labels, book.special)
            segments = segments_of(hidden, told[at] if told else None, mask, places)
            yield TokenRow(
                ids,
                mask,
                labels,
                places,
                _weighed(labels, weights[at]),
                segments,
                turns=_turns(ids, segments, book, facts),
                source=f"{self.kind or 'sample'} {at}",
                texts=book.joined(ids),
            )
        for at, ids in enumerate(self.targets):
            held = np.where(ids == IGNORED, _pad(book), ids)
            mask = (ids != IGNORED).astype(np.int64)
            weight = _weighed(ids, None)
            segments = segments_of(mask == 0, None, None, None)
            texts = book.joined(held)
            source = f"target {at}"
            yield TokenRow(
                held, mask, ids, None, weight, segments, source=source, texts=texts
            )

    def _column(self, name: str) -> list[Any]:
        """Return a column by rows, and note where it does not go by token."""
        value = self.columns.get(name)
        rows = per_token(value, self.ids, shared=name == "position_ids")
        if value is not None and any(row is None for row in rows):
            self.remarks.append(f"{name}{said_shape(value)} does not go by token")
        return rows

    def _labels(self) -> list[NDArray[np.int64] | None]:
        value = self.columns.get("labels")
        if value is None:
            return self._from_masks()
        targets = self._as_targets(value)
        if targets is not None:
            self.targets = targets
            self.remarks.append(
                "labels are the answers of a decoder: they stand in rows of their own, "
                "each at the position that says it"
            )
            return [None] * len(self.ids)
        rows = self._column("labels")
        return [None if row is None else row.astype(np.int64) for row in rows]

    def _as_targets(self, value: Any) -> list[NDArray[np.int64]] | None:
        """Return labels that are texts of their own: those of an encoder-decoder."""
        rows = rows_of(value)
        if rows is None or len(rows) != len(self.ids):
            return None
        if any(row.dtype.kind not in "iu" for row in rows if len(row)):
            return None
        paired = [len(r) == len(i) for r, i in zip(rows, self.ids, strict=True)]
        told = self.columns.get("decoder_input_ids") is not None
        if not told and (all(paired) or is_flat(value) or _own_text(rows, self.ids)):
            return None
        choices = all(((row == 0) | (row == 1)).all() for row in rows)
        return None if choices and not told else [r.astype(np.int64) for r in rows]

    def _from_masks(self) -> list[NDArray[np.int64] | None]:
        """Make labels as collators do, of columns that say what is trained."""
        names = [name for name in MASKS if self.columns.get(name) is not None]
        masks = [self._column(name) for name in names]
        if not masks or any(row is None for rows in masks for row in rows):
            return [None] * len(self.ids)
        self.remarks.append(f"labels are made of {' and '.join(names)}")
        return [
            np.where(np.all([rows[at] for rows in masks], axis=0), ids, IGNORED)
            for at, ids in enumerate(self.ids)
        ]

    def _weights(self) -> list[NDArray[np.float32] | None]:
        value = next((self.columns[n] for n in WEIGHTS if n in self.columns), None)
        rows = per_token(value, self.ids)
        single = rows_of(value) if value is not None else None
        if single and len(single) == 1 and len(single[0]) == len(self.ids) != 1:
            given = [np.full(len(i), w) for i, w in zip(self.ids, *single, strict=True)]
            return [each.astype(np.float32) for each in given]
        return [None if row is None else row.astype(np.float32) for row in rows]


def _own_text(labels: list[NDArray[Any]], ids: list[NDArray[np.int64]]) -> bool:
    """Tell whether labels are the row's own tokens, cut at one side."""

    def same(step: int) -> bool:
        counted = 0
        for label, row in zip(labels, ids, strict=True):
            length = min(len(label), len(row))
            one, other = label[::step][:length], row[::step][:length]
            counts = one != IGNORED
            counted += int(counts.sum())
            if (one[counts] != other[counts]).any():
                return False
        return counted > 0

    return same(1) or same(-1)


def _weighed(
    labels: NDArray[np.int64] | None, given: NDArray[np.float32] | None
) -> NDArray[np.float32] | None:
    if labels is None:
        return None
    counts = (labels != IGNORED).astype(np.float32)
    return counts if given is None else counts * given


def _pad(book: PieceBook) -> int:
    return min(book.special.get("pad", frozenset({0})))


def _distinct(parts: list[_Part], facts: TemplateFacts | None) -> list[int]:
    """Return the ids to look up: of rows, labels, the template's marks and ends."""
    held = [row for part in parts for row in part.ids]
    said = [row for part in parts for row in (*part.targets, *part.labels)]
    said = [row[row != IGNORED] for row in said if row is not None]
    found = np.unique(np.concatenate([*held, *said, np.array([], np.int64)]))
    marks: set[int] = set()
    if facts is not None:
        for ids in (facts.opening_ids, facts.end_ids, facts.last_end_ids):
            marks.update(each for row in ids.values() for each in row)
        marks.update(each for ids in facts.stops.values() for each in ids)
    return sorted({*found.tolist(), *marks})


def _turns(
    ids: NDArray[np.int64],
    segments: NDArray[np.int32],
    book: PieceBook,
    facts: TemplateFacts | None,
) -> Any:
    if facts is None:
        return ()
    return turns_in(ids, book.pieces, facts, segments=segments, texts=book.joined(ids))
