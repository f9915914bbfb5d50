"""Whether rows of the embedding whose gradient is masked stay where they are.

Who trains some rows only zeroes the gradient of the others, in a hook or in the loop. A
row that the batch looks up and whose gradient is exactly 0 was masked; the optimizer
does not know of it, and may move it all the same.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.probe import Moment, Probe, Reading, Result, Tensors
from ftlab.probes.schedule import every
from ftlab.probes.taps.forward import innermost
from ftlab.probes.tokens.batch import batch_fields
from ftlab.probes.tokens.new_tokens import needed, pads_of
from ftlab.probes.tokens.token_tables import TokenTable, token_tables
from ftlab.records.step import Block, Column

LOOKED_AT = 512
"""Positions of a batch whose rows are looked at."""


@dataclass(slots=True)
class _Look:
    """Rows that a batch looks up, of which ``first`` marks each once."""

    table: TokenTable
    rows: torch.Tensor
    first: torch.Tensor
    masked: torch.Tensor | None = None
    before: torch.Tensor | None = None


class MaskedRows(Probe):
    """Compare rows that get no gradient before and after the update."""

    light = False
    table: ClassVar[str] = "masked_rows"
    columns: ClassVar[tuple[Column, ...]] = (
        Column("rows", "1", "Different rows that were looked up and looked at."),
        Column("masked", "1", "Of these, rows whose gradient is exactly 0."),
        Column("moved", "1", "Of the masked ones, rows that the update changed."),
    )

    def __init__(self, interval: int = 16) -> None:
        self._due = every(interval)
        self._step = -1
        self._tensors: Tensors | None = None
        self._table: TokenTable | None = None
        self._pads: set[int] = set()
        self._look: _Look | None = None

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Choose rows of the first micro-batch: each of them should get a gradient."""
        if moment.tensors is not self._tensors:
            self._tensors, self._table = moment.tensors, _trained_table(moment)
            self._pads = pads_of(moment.subject)
        self.rests = self._table is None
        if self._table is not None and moment.step != self._step:
            self._step, self._look = moment.step, None
            if self._due(moment.step):
                fields = batch_fields(inputs)
                self._look = _chosen(self._table, fields, self._pads)
        return ()

    def before_update(self, moment: Moment) -> Iterable[Reading]:
        """See which of the rows are masked, and keep what they are."""
        look = self._look
        if look is not None and look.masked is None:
            weight = look.table.weight
            gradient = weight.grad
            if gradient is None or gradient.layout is not torch.strided:
                self._look = None
                return ()
            look.masked = look.first & (gradient.detach()[look.rows] == 0).all(1)
            look.before = weight.detach()[look.rows]
        return ()

    def after_update(self, moment: Moment) -> Iterator[Reading]:
        """Count the masked rows that the update changed."""
        look = self._look
        if look is None or look.masked is None or look.before is None:
            return
        weight = look.table.weight
        if not len(weight):
            return
        moved = (weight.detach()[look.rows] != look.before).any(1)
        marks = torch.stack((look.first, look.masked, look.masked & moved))
        name = look.table.name

        def finish(values: NDArray[np.float32]) -> Iterable[Result]:
            row = moment.name("masked_rows", name, "param", {}, since_step=moment.step)
            columns = dict(zip(("rows", "masked", "moved"), values, strict=True))
            rows = {key: np.array([value]) for key, value in columns.items()}
            yield Block("masked_rows", moment.step, np.array([row], np.int32), rows)

        yield Reading(marks.sum(1).float(), finish)

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Let go of the rows."""
        self._look = None
        return {}


def _trained_table(moment: Moment) -> TokenTable | None:
    """Return the embedding, where it is trained as a whole."""
    trained = {id(each) for each in moment.tensors.parameters}
    for table in token_tables(innermost(moment.subject.model)):
        weight = table.weight
        if not table.output and id(weight) in trained:
            return table if type(weight.data) is torch.Tensor else None
    return None


def _chosen(
    table: TokenTable, fields: Mapping[str, torch.Tensor], pads: set[int]
) -> _Look | None:
    """Choose up to `LOOKED_AT` positions whose token a label comes after."""
    ids = next(iter(needed(table, fields, pads)), None)
    weight = table.weight
    if ids is None or not len(weight):
        return None
    ids = torch.where(_counts(ids, fields.get("labels")), ids, -1).flatten()
    ids = ids[:: math.ceil(ids.numel() / LOOKED_AT)]
    rows = ids.to(weight.device, non_blocking=True).long().sort().values
    inside = (rows >= 0) & (rows < len(weight))
    first = torch.ones_like(inside)
    first[1:] = rows[1:] != rows[:-1]
    return _Look(table, rows.clamp(0, len(weight) - 1), first & inside)


def _counts(ids: torch.Tensor, labels: torch.Tensor | None) -> torch.Tensor:
    """Mark the positions that a loss can depend on: a later one has a label."""
    if labels is not None and labels.shape != ids.shape:
        return torch.ones_like(ids, dtype=torch.bool)  # one for the whole sequence
    given = torch.ones_like(ids) if labels is None else (labels >= 0).to(ids)
    after = given.flip(-1).cumsum(-1).flip(-1) - given
    return after > 0
