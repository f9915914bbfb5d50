"""Finds frozen weights that change: a sample of each is compared with what it was."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.frozen.frozen_samples import Frozen, FrozenSamples, Group
from ftlab.probes.probe import Moment, Probe, Reading, Result, Tensors
from ftlab.probes.schedule import every
from ftlab.probes.subject import Subject
from ftlab.records.handle import Handle
from ftlab.records.step import Block, Column

COUNTED = 4
"""Updates from one after which torch's counts of writes are read to the next."""

_PARTS = 4
"""Values per weight that come from the device."""


class FrozenWeights(Probe):
    """Compare frozen weights with what they were when they were first seen frozen.

    They are compared on the schedule, after adapters were merged or unmerged, and when
    one has changed: 16 on the CPU are looked at in turn after each update, and after
    every fourth the writes to all of them that torch counts. A weight that an adapter
    is merged into at that moment is left out.

    Parameters
    ----------
    interval
        Steps between two comparisons that nothing calls for.
    """

    light = False
    table: ClassVar[str] = "frozen"
    columns: ClassVar[Sequence[Column]] = (
        Column("delta_max", "1", "Largest change of a sampled element since first."),
        Column("delta_share", "1", "Share of sampled elements that have changed."),
        Column("mean_abs", "1", "Mean magnitude of the sample as it was."),
        Column("gradient", "1", "Largest element of a gradient that it still has."),
        Column("cycles", "1", "Times that its layer was unmerged since."),
    )

    def __init__(self, interval: int = 16) -> None:
        self._is_time = every(interval)
        self._counts = every(COUNTED)
        self._samples = FrozenSamples()
        self._tensors: Tensors | None = None

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Take the first samples."""
        self._samples.look(subject.model)
        return ()

    def after_update(self, moment: Moment) -> Iterable[Reading]:
        """Compare if it is time to, or if a weight was written to."""
        if moment.tensors is not self._tensors:
            self._tensors = moment.tensors
            self._samples.look(moment.subject.model)
        written = self._samples.turned()
        if self._counts(moment.step):
            written |= self._samples.written()
        if written or self._is_time(moment.step):
            yield from self._compare(moment)

    def on_merge(
        self, moment: Moment, layer: Any, path: str, when: str
    ) -> Iterable[Reading]:
        """Count the cycles of each layer."""
        if when == "after unmerge":
            for each in self._samples.weights():
                each.cycles += each.layer == path
        return ()

    def on_adapters(
        self, moment: Moment, operations: frozenset[str]
    ) -> Iterable[Reading]:
        """Compare after a merge; what is unloaded into is another model from then."""
        if "unload" in operations:
            yield from self._compare(moment, lambda each: bool(each.tied))
            self._samples.clear()
            self._samples.look(moment.subject.model)
        elif operations & {"merge", "unmerge"}:
            yield from self._compare(moment)

    def _compare(
        self,
        moment: Moment,
        wanted: Callable[[Frozen], bool] | None = None,
    ) -> Iterator[Reading]:
        merged = self._samples.merged()
        for group in self._samples.groups(moment.subject.model):
            # A tied weight that is merged into under one name is wrong under the other.
            rows = [
                (wanted is None or wanted(each))
                and (bool(each.tied) or each.layer not in merged)
                for each in group.weights
            ]
            wanted_rows = [index for index, row in enumerate(rows) if row]
            if wanted_rows:
                yield self._reading(moment, group, wanted_rows)

    def _reading(self, moment: Moment, group: Group, rows: list[int]) -> Reading:
        weights = [group.weights[i] for i in rows]
        before = group.before(rows)
        delta = group.now(rows) - before
        left = [_gradient(each) for each in weights]
        parts = (
            delta.abs().amax(1),
            (delta != 0).sum(1) / delta.shape[1],
            before.abs().mean(1),
            _largest(left, before),
        )
        cycles = np.array([each.cycles for each in weights], np.float32)
        has_grad = [each is not None for each in left]

        def finish(values: NDArray[np.float32]) -> Iterator[Result]:
            table = np.vstack([values.reshape(_PARTS, -1), cycles])
            changed = np.flatnonzero(table[1] > 0)
            yield {
                "frozen_compared": float(len(rows)),
                "frozen_changed": float(len(changed)),
            }
            if len(changed):
                held = _groups_of(moment.subject)
                ids = [
                    _row(moment, self.table, _named(weights[i], held, has_grad[i]))
                    for i in changed.tolist()
                ]
                yield self._block(moment.step, ids, table[:, changed])

        return Reading(torch.cat(parts), finish)

    def _block(self, step: int, ids: list[int], table: NDArray[np.float32]) -> Block:
        order = np.argsort(ids)
        names = [column.name for column in self.columns]
        values = {n: part[order] for n, part in zip(names, table, strict=True)}
        return Block(self.table, step, np.array(ids, np.int32)[order], values)


def _groups_of(subject: Subject) -> dict[int, int]:
    """Index the parameters that optimizers hold, over all groups."""
    groups = [group for each in subject.optimizers for group in each.param_groups]
    return {id(p): index for index, group in enumerate(groups) for p in group["params"]}


def _gradient(each: Frozen) -> torch.Tensor | None:
    weight = each.reference()
    return None if weight is None else weight.grad


def _largest(left: list[torch.Tensor | None], like: torch.Tensor) -> torch.Tensor:
    """Return the largest elements of the gradients that weights have left, or 0."""
    nothing = like.new_zeros(len(left))
    if all(each is None for each in left):
        return nothing
    found = [None if each is None else each.detach().abs().amax() for each in left]
    pairs = zip(found, nothing.unbind(), strict=True)
    return torch.stack([zero if top is None else top.to(like) for top, zero in pairs])


def _named(each: Frozen, held: dict[int, int], has_grad: bool) -> dict[str, Any]:
    """Describe a weight; one that has gone is only named."""
    weight = each.reference()
    if weight is None:
        return {"name": each.name, "meta": {}}
    meta = {
        "role": "frozen" if each.role == "weight" else "adapter",
        "module": each.layer,
        "tied": each.tied,
        "quantized": hasattr(weight, "quant_state"),
        "group": held.get(id(weight), -1),
        "has_grad": has_grad,
    }
    return {
        "name": each.name,
        "meta": meta,
        "shape": tuple(weight.shape),
        "dtype": str(weight.dtype).removeprefix("torch."),
        "trainable": False,
    }


def _row(moment: Moment, table: str, named: dict[str, Any]) -> int:
    fields = dict(named)
    name, meta = fields.pop("name"), fields.pop("meta")
    fields["since_step"] = moment.step
    return int(moment.name(table, name, "param", meta, **fields))
