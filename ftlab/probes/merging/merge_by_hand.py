"""Base weights that change by a multiple of what their adapter adds: merges by hand."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.merging.merge_explained import UNUSED, Explained, explained
from ftlab.probes.merging.merge_places import Factors, MergePlace, MergePlaces
from ftlab.probes.probe import Moment, Probe, Reading, Result, Tensors
from ftlab.probes.schedule import every
from ftlab.probes.subject import Subject
from ftlab.records.handle import Handle
from ftlab.records.step import Block, Column

UPDATES = 4
"""Updates from one at which a weight is compared to the next."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """What is known on the host of one adapter on one weight."""

    place: MergePlace
    factors: Factors
    scaling: float
    merged: bool
    live: bool

    @property
    def name(self) -> str:
        """Name it as the table of adapters does."""
        return f"{self.place.path} [{self.factors.adapter}]"

    def meta(self) -> dict[str, str | int | float | bool]:
        """Describe it."""
        return {
            "role": "hand_merge",
            "module": self.place.path,
            "adapter": self.factors.adapter,
            "rank": self.factors.rank,
            "alpha": self.factors.alpha,
        }

    def row(self, found: Explained) -> tuple[float, ...]:
        """Return the columns of a part of a change, and remember it."""
        factor, adapter = found.factor, self.factors.adapter
        if not found.turned:
            factor += self.place.held.get(adapter, 0.0)
            self.place.held[adapter] = factor
            factor += self.merged
        flags = float(found.turned), float(self.live)
        return (factor, found.off, *flags, self.scaling)


class MergeByHand(Probe):
    """Compare what was written to base weights with what their adapters add.

    A sample of each weight is kept from the start; what PEFT merges and unmerges is
    added to it. One weight in turn is compared at each evaluation, and at the first
    updates and every fourth later, just before the adapters change. All of them are
    once one has changed, when the model is saved, and at the end.
    """

    table: ClassVar[str] = "hand_merges"
    columns: ClassVar[Sequence[Column]] = (
        Column("factor", "1", "Times that the weight holds what the adapter adds."),
        Column(
            "off", "1", "Share of the weight's change that this leaves unexplained."
        ),
        Column("turned", "1", "1 where it was added transposed."),
        Column("live", "1", "1 where the model was used with the adapter on as well."),
        Column("scaling", "1", "The adapter's factor at that time."),
    )

    def __init__(self) -> None:
        self._places = MergePlaces()
        self._tensors: Tensors | None = None
        self._is_time = every(UPDATES)
        self._alarmed = False
        self._step = -1
        self._kept: list[Reading] = []

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Take the first samples."""
        self._places.look(subject.model)
        return ()

    def before_update(self, moment: Moment) -> Iterable[Reading]:
        """Compare with the adapters that this step has used."""
        if self._alarmed or (moment.full and self._is_time(moment.step)):
            yield from self._compare(moment, self._due(), used=True)
        if moment.tensors is not self._tensors:
            self._tensors = moment.tensors
            self._places.look(moment.subject.model)

    def on_evaluation(self, moment: Moment) -> Iterable[Reading]:
        """Compare with the adapters that are evaluated."""
        return self._compare(moment, self._due(), used=True)

    def on_handover(self, moment: Moment) -> Iterable[Reading]:
        """Compare what is left: all of it, and every time of one step."""
        if moment.step != self._step:
            self._step, self._kept = moment.step, []
        self._kept += self._compare(moment, list(self._places), used=False)
        return tuple(self._kept)

    def on_merge(
        self, moment: Moment, layer: Any, path: str, when: str
    ) -> Iterable[Reading]:
        """Take what PEFT does as known."""
        place = self._places.of(layer)
        if place is not None:
            if when.startswith("before"):
                place.before_merging()
            else:
                place.after_merging()
        return ()

    def on_adapters(
        self, moment: Moment, operations: frozenset[str]
    ) -> Iterable[Reading]:
        """Look for adapters that came."""
        self._places.look(moment.subject.model)
        return ()

    def _due(self) -> list[MergePlace]:
        return list(self._places) if self._alarmed else self._places.next()

    def _compare(
        self, moment: Moment, places: list[MergePlace], *, used: bool
    ) -> list[Reading]:
        found = []
        for place in places:
            vectors = place.vectors()
            if vectors is not None:
                pairs = [_pair(place, each, used=used) for each in place.factors]
                found.append(self._reading(moment, vectors, pairs))
        return found

    def _reading(
        self, moment: Moment, vectors: torch.Tensor, pairs: list[_Pair]
    ) -> Reading:
        size = len(vectors)
        # Not a matrix product: those are rounded under autocast.
        products = (vectors[:, None] * vectors[None]).sum(2)

        def finish(values: NDArray[np.float32]) -> Iterator[Result]:
            gram = values.reshape(size, size).astype(np.float64)
            parts = explained(gram, len(pairs))
            rows = [(pairs[part.index], pairs[part.index].row(part)) for part in parts]
            self._alarmed = self._alarmed or bool(rows)
            # A merge that somebody has taken back leaves nothing.
            rows = [row for row in rows if abs(row[1][0]) > UNUSED]
            if rows:
                yield self._block(moment, rows)

        return Reading(products.flatten(), finish)

    def _block(
        self, moment: Moment, rows: list[tuple[_Pair, tuple[float, ...]]]
    ) -> Block:
        step, table = moment.step, {}
        for pair, row in rows:
            meta = pair.meta()
            name = moment.name(self.table, pair.name, "adapter", meta, since_step=step)
            table[name] = row
        ids = np.array(sorted(table), np.int32)
        columns = np.array([table[row] for row in sorted(table)], np.float32).T
        names = [column.name for column in self.columns]
        return Block(self.table, step, ids, dict(zip(names, columns, strict=True)))


def _pair(place: MergePlace, factors: Factors, *, used: bool) -> _Pair:
    adapter = factors.adapter
    live = used and place.live(adapter)
    return _Pair(place, factors, factors.factor, adapter in place.merged, live)
