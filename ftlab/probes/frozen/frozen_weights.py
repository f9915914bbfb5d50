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

IN_TURN = 16
"""Weights that are compared at a step at which nothing calls for more."""

_PARTS = 4
"""Values per weight that come from the device."""


class FrozenWeights(Probe):
    """Compare frozen weights with what they were when they were first seen frozen.

    Some of them are compared after every update, in turn; all of them on the schedule,
    after any update before which one was written to in a way that torch counts, and
    after adapters were merged or unmerged. A weight that an adapter is merged into at
    that moment is left out.

    Parameters
    ----------
    interval
        Steps between two comparisons that nothing calls for.
    """

    name: ClassVar[str] = "frozen_weights"
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
        if self._samples.written() or self._is_time(moment.step):
            yield from self._compare(moment)
        else:
            turn = self._samples.next(IN_TURN)
            yield from self._compare(moment, lambda each: id(each) in turn, moved=False)

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
        *,
        moved: bool = True,
    ) -> Iterator[Reading]:
        merged = self._samples.merged()
        for group in self._samples.groups(moment.subject.model, moved=moved):
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
        before, now = torch.stack([group.samples[i] for i in rows]), group.now(rows)
        delta = now - before
        parts = (
            delta.abs().amax(1),
            (delta != 0).sum(1) / delta.shape[1],
            before.abs().mean(1),
            torch.stack([_left(group.weights[i], before) for i in rows]),
        )
        weights = [group.weights[i] for i in rows]
        held = _groups_of(moment.subject)
        cycles = np.array([each.cycles for each in weights], np.float32)
        named = [_named(each, held) for each in weights]

        def finish(values: NDArray[np.float32]) -> Iterator[Result]:
            table = np.vstack([values.reshape(_PARTS, -1), cycles])
            changed = np.flatnonzero(table[1] > 0)
            yield {
                "frozen_compared": float(len(rows)),
                "frozen_changed": float(len(changed)),
            }
            if len(changed):
                ids = [_row(moment, self.table, named[i]) for i in changed.tolist()]
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


def _left(each: Frozen, like: torch.Tensor) -> torch.Tensor:
    """Return the largest element of the gradient that a weight has left, or 0."""
    weight = each.reference()
    if weight is None or weight.grad is None:
        return like.new_zeros(())
    return weight.grad.detach().abs().amax().to(like)


def _named(each: Frozen, held: dict[int, int]) -> dict[str, Any]:
    """Describe a weight while it is sure to be alive."""
    weight = each.reference()
    if weight is None:
        return {"name": each.name, "meta": {}}
    meta = {
        "role": "frozen" if each.role == "weight" else "adapter",
        "module": each.layer,
        "tied": each.tied,
        "quantized": hasattr(weight, "quant_state"),
        "group": held.get(id(weight), -1),
        "has_grad": weight.grad is not None,
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
