"""Whether rows that no training has touched are needed by the batches, and ever move.

Which rows are fresh is read once for each table. On due steps the batch's ids are
compared with them on the device, and the rows with what they were; nothing waits.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.probe import Moment, Probe, Reading, Result, Tensors
from ftlab.probes.schedule import every
from ftlab.probes.subject import Subject
from ftlab.probes.taps.forward import innermost
from ftlab.probes.tokens.batch import batch_fields
from ftlab.probes.tokens.fresh_rows import fresh_rows
from ftlab.probes.tokens.token_tables import TokenTable, token_tables
from ftlab.records.step import Block, Column

MANY = 8192
"""Fresh rows of one table that are followed at most."""

NAMED = 32
"""Ids that are named at most."""

_FEW = 3
"""Dimensions from which on a tensor of numbers in a batch is a picture or sound."""


@dataclass(slots=True)
class _Followed:
    """The fresh rows of one table, on its device."""

    table: TokenTable
    looks: dict[str, list[int]]
    ids: torch.Tensor
    before: torch.Tensor
    seen: torch.Tensor = field(init=False)

    def __post_init__(self) -> None:
        self.seen = torch.zeros_like(self.ids, dtype=torch.bool)

    def look(self, ids: torch.Tensor) -> None:
        """Mark the fresh rows that are among ``ids``.

        ``torch.isin`` would wait for the device.
        """
        rows = len(self.table.weight)
        held = ids.to(self.ids.device, non_blocking=True).flatten()
        inside = torch.where((held >= 0) & (held < rows), held, rows).long()
        marks = torch.zeros(rows + 1, dtype=torch.bool, device=held.device)
        self.seen |= marks.index_fill_(0, inside, True)[self.ids]


class NewTokens(Probe):
    """Follow fresh rows of the embedding and of the head."""

    light = False
    table: ClassVar[str] = "new_tokens"
    columns: ClassVar[tuple[Column, ...]] = (
        Column("fresh", "1", "Rows that look as if no training had touched them."),
        Column("used", "1", "Of these, rows whose tokens the batches have held."),
        Column("still", "1", "Of the used ones, rows that have not changed."),
    )

    def __init__(self, interval: int = 16) -> None:
        self._due = every(interval)
        self._tensors: Tensors | None = None
        self._weights: set[int] = set()
        self._followed: list[_Followed] = []
        self._pads: set[int] = set()

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """See which fresh rows the batch needs."""
        if moment.tensors is not self._tensors:
            self._tensors = moment.tensors
            self._begin(moment.subject)
        self.rests = not self._followed
        if self._followed and self._due(moment.step):
            fields = batch_fields(inputs)
            for each in self._followed:
                for ids in needed(each.table, fields, self._pads):
                    each.look(ids)
        return ()

    def after_update(self, moment: Moment) -> Iterator[Reading]:
        """Compare the rows with what they were."""
        if not self._due(moment.step):
            return
        for each in self._followed:
            if each.table.reference() is None:
                continue
            moved = _sums(each.table.weight, each.ids) != each.before
            values = torch.stack([each.seen, moved]).float().flatten()
            yield Reading(values, _Finish(moment, each))

    def _begin(self, subject: Subject) -> None:
        """Look for tables, and keep what is known of those that were there before."""
        known = {id(each.table.weight): each for each in self._followed}
        self._followed, self._pads = [], pads_of(subject)
        for table in token_tables(innermost(subject.model)):
            each = known.get(id(table.weight))
            if each is not None:
                each.table = table
            elif id(table.weight) not in self._weights:
                each = _follow(table)
            self._weights.add(id(table.weight))
            if each is not None:
                self._followed.append(each)


class _Finish:
    """Makes the table's row when the values have arrived."""

    def __init__(self, moment: Moment, each: _Followed) -> None:
        self._moment = moment
        self._table, self._looks = each.table, each.looks
        self._ids = [i for group in each.looks.values() for i in group][:MANY]
        self._frozen = not each.table.weight.requires_grad
        self._dtype = str(each.table.weight.dtype).removeprefix("torch.")

    def __call__(self, values: NDArray[np.float32]) -> Iterable[Result]:
        """Count rows, and name those that are needed and do not move."""
        seen, moved = values.reshape(2, -1) > 0
        learnt = self._table.learnt
        elsewhere = np.array([learnt is None or i in learnt for i in self._ids])
        still = seen & ~moved & ~elsewhere
        meta = {
            "frozen": self._frozen,
            "output": self._table.output,
            "tied": self._table.tied,
            "looks": self._look(still),
            "still": ",".join(str(i) for i in np.array(self._ids)[still][:NAMED]),
            "learnt": ",".join(map(str, sorted(learnt or ())[:NAMED])),
        }
        moment = self._moment
        row = moment.name(
            "new_tokens",
            self._table.name,
            "param",
            meta,
            since_step=moment.step,
            shape=tuple(self._table.weight.shape),
            dtype=self._dtype,
            trainable=not self._frozen,
        )
        counts = {"fresh": len(self._ids), "used": seen.sum(), "still": still.sum()}
        columns = {name: np.array([n], np.float32) for name, n in counts.items()}
        yield Block("new_tokens", moment.step, np.array([row], np.int32), columns)

    def _look(self, still: NDArray[np.bool_]) -> str:
        """Say what most of the still rows look like."""
        place, most = 0, ("", 0)
        for look, group in self._looks.items():
            count = int(still[place : place + len(group)].sum())
            place += len(group)
            most = max(most, (look, count), key=lambda each: each[1])
        return most[0]


def _follow(table: TokenTable) -> _Followed | None:
    looks = fresh_rows(table.weight, table.drawn)
    ids = [i for group in looks.values() for i in group][:MANY]
    if not ids:
        return None
    rows = torch.tensor(ids, device=table.weight.device)
    return _Followed(table, looks, rows, _sums(table.weight, rows))


@torch.no_grad()
def _sums(weight: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Reduce each row to two sums, such that a change shows in one of them."""
    rows = weight.detach()[ids].double()
    place = torch.arange(1, rows.shape[1] + 1, device=rows.device, dtype=rows.dtype)
    return (rows * place).sum(1) + 1j * (rows * place.sqrt()).sum(1)


def needed(
    table: TokenTable, fields: Mapping[str, torch.Tensor], pads: set[int]
) -> Iterator[torch.Tensor]:
    """Yield the ids that this table is asked for, -1 where it is not."""
    ids, labels = fields.get("input_ids"), fields.get("labels")
    if ids is None or ids.is_floating_point():
        return
    same = labels is not None and labels.shape == ids.shape
    if not table.output or table.tied:
        wanted = _without(ids, pads)
        mask = fields.get("attention_mask")
        if mask is not None and mask.shape == ids.shape:
            wanted = torch.where(mask.to(ids.device) != 0, wanted, -1)
        if labels is not None and same and _has_more(fields):
            wanted = torch.where(labels.to(ids.device) >= 0, wanted, -1)
        yield wanted
    sequences = labels is not None and (same or "decoder_input_ids" in fields)
    if labels is not None and sequences and (table.output or table.tied):
        yield _without(labels, pads)


def _without(ids: torch.Tensor, pads: set[int]) -> torch.Tensor:
    for pad in pads:
        ids = torch.where(ids == pad, -1, ids)
    return ids


def _has_more(fields: Mapping[str, torch.Tensor]) -> bool:
    """Tell whether a picture or the like may take the place of some tokens."""
    return any(
        each.is_floating_point() and each.dim() >= _FEW and "mask" not in name
        for name, each in fields.items()
    )


def pads_of(subject: Subject) -> set[int]:
    """Collect the ids of padding, of every model within the model."""
    found = {getattr(subject.tokenizer, "pad_token_id", None)}
    for module in subject.model.modules():
        found.add(vars(module).get("padding_idx"))
        found.add(getattr(vars(module).get("config"), "pad_token_id", None))
    return {each for each in found if isinstance(each, int)}
