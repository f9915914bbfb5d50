"""Everything about the masks of one batch, measured."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.probes.attention.counting import Legal, count_row
from ftlab.probes.attention.documents import Marks, documents_of, rows_of
from ftlab.probes.attention.layer import LayerMask
from ftlab.probes.attention.layer_masks import ModelMasks
from ftlab.probes.attention.padding_plans import padding_plans
from ftlab.records.attention import (
    PADDING,
    VIRTUAL,
    AttentionReport,
    Documents,
    MaskGrid,
)

EXACT = 3_000_000_000
"""Pairs that are all looked at, unless told otherwise: some 12 seconds of one core."""
PART_CELLS = 128

Part = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Measured:
    """A report, and what looks closer at a part of one mask.

    Attributes
    ----------
    closer
        Of a row, the name of a kind and a part: the grid of that part.
    """

    report: AttentionReport
    closer: Callable[[int, str, Part], MaskGrid]


def measure(
    masks: ModelMasks,
    batch: Mapping[str, Any],
    marks: Marks,
    *,
    model: str,
    exact: bool | None = None,
    causal: bool | None = None,
) -> Measured:
    """Count what the masks let through, against what the batch allows.

    Parameters
    ----------
    exact
        Whether to look at every pair; by default up to `EXACT` of them.
    causal
        Whether tokens must not see later ones, against what the model says.
    """
    documents = documents_of(batch, marks)
    sided = any(each.side != "decoder" for each in masks.masks)
    inputs = _Inputs(batch, documents, sided=sided)
    legal = {
        (at, row): inputs.legal(mask, row, causal)
        for at, mask in enumerate(masks.masks)
        for row in range(masks.rows)
    }
    pairs = sum(each.pattern.queries * each.pattern.keys for each in masks.masks)
    every = pairs * masks.rows <= EXACT if exact is None else exact
    rows = tuple(
        replace(
            count_row(
                mask.pattern, row, legal[at, row], kind=mask.kind.name, exact=every
            ),
            sure=inputs.sure(row),
        )
        for row in range(masks.rows)
        for at, mask in enumerate(masks.masks)
    )
    largest = max(masks.masks, key=lambda each: each.pattern.queries, default=None)
    report = AttentionReport(
        model,
        masks.implementation,
        largest.pattern.queries if largest else 0,
        largest.pattern.keys if largest else 0,
        tuple(inputs.shown(row, largest) for row in range(masks.rows)),
        tuple(each.kind for each in masks.masks),
        rows,
        plans=padding_plans(documents),
        remarks=tuple(masks.remarks),
    )
    index = {each.kind.name: at for at, each in enumerate(masks.masks)}

    def closer(row: int, kind: str, part: Part) -> MaskGrid:
        mask = masks.masks[index[kind]]
        found = count_row(
            mask.pattern,
            row,
            legal[index[kind], row],
            kind=kind,
            exact=every or _size(part) <= EXACT,
            part=part,
            cells=PART_CELLS,
        )
        return found.grid

    return Measured(report, closer)


class _Inputs:
    """What a batch says of its rows, as masks of all sides need it."""

    def __init__(
        self,
        batch: Mapping[str, Any],
        documents: tuple[Documents, ...],
        *,
        sided: bool,
    ) -> None:
        self._documents = documents
        given = batch.get("attention_mask")
        # who sees whom in a mask of somebody's own is what that mask says
        self._own = isinstance(given, Mapping) or getattr(given, "ndim", 2) > 2
        self._labels = rows_of(batch.get("labels"))
        decoder = {
            "input_ids": batch.get("decoder_input_ids"),
            "attention_mask": batch.get("decoder_attention_mask"),
        }
        if decoder["input_ids"] is None:
            decoder["input_ids"] = batch.get("labels")
        self._others: tuple[Documents, ...] = ()
        if sided and rows_of(decoder["input_ids"]) is not None:
            # what a decoder is given begins with a start token and ends in any case
            self._others = documents_of(decoder, Marks())

    def sure(self, row: int) -> bool:
        """Tell whether the row's documents are certain."""
        return self._of(self._documents, row).sure

    def shown(self, row: int, mask: LayerMask | None) -> Documents:
        """Return a row's documents in the length of a mask's keys."""
        known = self._of(self._documents, row)
        if mask is None:
            return known
        return replace(known, numbers=_fitted(known.numbers, mask.pattern.keys))

    def legal(self, mask: LayerMask, row: int, causal: bool | None) -> Legal:
        """Return who should attend to whom in one row."""
        pattern = mask.pattern
        known = self._of(self._documents, row).numbers
        keys = _fitted(known, pattern.keys)
        at = np.arange(pattern.queries) + max(0, pattern.offset)
        if mask.side == "cross":
            other = self._of(self._others, row).numbers if self._others else known[:0]
            queries = np.where(_fitted(other, pattern.queries) == PADDING, PADDING, 0)
            keys = np.where(keys == PADDING, PADDING, 0)
        elif len(known) != pattern.queries and self._others and mask.kind.causal:
            keys = _fitted(self._of(self._others, row).numbers, pattern.keys)
            queries = keys[np.minimum(at, pattern.keys - 1)]
        else:
            queries = keys[np.minimum(at, pattern.keys - 1)]
        strict = mask.kind.causal if causal is None else causal
        due = mask.kind.window if mask.due and not self._own else -1
        return Legal(
            queries.astype(np.int32),
            keys.astype(np.int32),
            at,
            strict and mask.side != "cross",
            self._spoiling(row, pattern.keys),
            due,
        )

    def _spoiling(self, row: int, keys: int) -> NDArray[np.bool_]:
        """Return the keys that must not be seen early: those that are trained."""
        labels = self._labels
        if labels is None or row >= len(labels) or not (labels[row] >= 0).any():
            return np.ones(keys, dtype=bool)
        trained = np.zeros(keys, dtype=bool)
        fits = min(keys, labels.shape[1])
        trained[keys - fits :] = labels[row][:fits] >= 0
        return trained

    @staticmethod
    def _of(documents: tuple[Documents, ...], row: int) -> Documents:
        return documents[min(row, len(documents) - 1)]


def _fitted(numbers: NDArray[np.int32], length: int) -> NDArray[np.int32]:
    """Put virtual tokens in front, where a mask has more positions than the batch."""
    if len(numbers) >= length:
        return numbers[:length]
    front = np.full(length - len(numbers), VIRTUAL, np.int32)
    return np.concatenate((front, numbers))


def _size(part: Part) -> int:
    return (part[0][1] - part[0][0]) * (part[1][1] - part[1][0])
