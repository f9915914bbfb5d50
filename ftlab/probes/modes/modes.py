"""In which mode the parts of the model are that depend on it, at each training forward.

Modes are plain attributes, so that looking at them costs nothing on the device. The
model is walked when its trainable set has changed, and from time to time; in between
only the parts that are known are asked.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from ftlab.probes.adapter.adapter_tree import holders, pattern_of
from ftlab.probes.modes.mode_calls import ModeCalls
from ftlab.probes.modes.mode_parts import Kind, Part, Region, parts_of, regions_of
from ftlab.probes.probe import Moment, Probe, Reading, Tensors
from ftlab.probes.subject import Subject
from ftlab.probes.taps.forward import innermost
from ftlab.records.handle import Handle
from ftlab.records.step import Block, Column

MANY = 64
"""Parts of a model in evaluation mode that are named at most."""

WALK_EVERY = 16
"""Intervals between two walks over the modules."""

PARTS = 8
"""Dropouts within one of them that are named at most."""

_KINDS: tuple[Kind, ...] = ("dropout", "statistics", "checkpointing")


class Modes(Probe):
    """Name what trains in evaluation mode, whenever that has changed."""

    light = False
    table: ClassVar[str] = "modes"
    columns: ClassVar[Sequence[Column]] = (
        Column("dropouts_off", "1", "Dropouts above 0 in it that do nothing."),
        Column("statistics_off", "1", "Batch norms in it that gather nothing."),
        Column("checkpointing_off", "1", "Blocks in it that are not checkpointed."),
    )

    def __init__(self, interval: int = 16) -> None:
        self._interval = WALK_EVERY * interval
        self._parts: list[Part] = []
        self._walked = 0
        self._tensors: Tensors | None = None
        self._modes: tuple[bool, ...] = ()
        self._regions: list[Region] | None = None
        self._calls: ModeCalls | None = None
        self._put_back = 0

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Hear what mode is asked for."""
        self._calls = ModeCalls(subject.model)
        return [self._calls]

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Ask the parts for their modes; look closer where one has changed."""
        model = innermost(moment.subject.model)
        late = moment.step >= self._walked + self._interval
        if late or moment.tensors is not self._tensors:
            self._parts, self._walked = parts_of(model), moment.step
            self._tensors = moment.tensors
        modes = tuple(part.on for part in self._parts)
        if modes != self._modes:
            self._modes = modes
            self._regions = list(regions_of(model, self._parts))
        if self._calls is not None and self._calls.take():
            off = [p for p, on in zip(self._parts, modes, strict=True) if not on]
            self._put_back = sum(part.layer is not None for part in off)
        return ()

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Name the regions, with what their parameters received."""
        regions, self._regions = self._regions, None
        if not regions:
            return ()
        rows: dict[int, list[int]] = {}
        carrier = _carrier(moment.subject.model, self._parts)
        for region in regions[:MANY]:
            meta = _meta(region, self._parts) | carrier
            row = moment.name(self.table, region.path or "model", "module", meta)
            kinds = [part.kind for part in region.off]
            rows[row] = [kinds.count(kind) for kind in _KINDS]
        ids = np.array(sorted(rows), np.int32)
        counts = np.array([rows[row] for row in ids.tolist()], np.float32).T
        names = [column.name for column in self.columns]
        values = dict(zip(names, counts, strict=True))
        block = Block(self.table, moment.step, ids, values)
        return (Reading(torch.zeros(0), lambda _: (block,)),)

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Count parts in either mode."""
        modes = list(zip(self._parts, self._modes, strict=False))
        on = sum(self._modes)
        values = {
            "modes_on": float(on),
            "modes_off": float(len(self._modes) - on),
            "dropouts_on": float(sum(o for p, o in modes if p.kind == "dropout")),
        }
        if self._put_back:
            values["dropouts_put_back"] = float(self._put_back)
        self._put_back = 0
        return values


def _meta(region: Region, parts: Sequence[Part]) -> dict[str, str | float | bool]:
    """Describe a region; a single module learns where its block does."""
    pattern = pattern_of(region.path)
    alike = (part for part in parts if pattern_of(part.path) == pattern)
    owner = region.block if region.single else region.module
    drops = [part for part in region.off if part.kind == "dropout"]
    return {
        "class": type(region.module).__name__,
        "single": region.single,
        "alike_on": region.single and any(each.on for each in alike),
        "learns": any(p.grad is not None for p in owner.parameters()),
        "p": max((part.p for part in drops), default=0.0),
        "adapter_off": sum(part.learns for part in drops),
        "parts": ",".join(part.path for part in drops[:PARTS]),
    }


def _carrier(
    model: torch.nn.Module, parts: Sequence[Part]
) -> dict[str, str | float | bool]:
    """Tell in which mode PEFT's model is, and how many of its dropouts are on."""
    found = holders(model)
    if not found:
        return {}
    on = sum(part.on and part.learns for part in parts)
    module = found[0].module
    kind = type(module).__name__ if module.training else ""
    return {"adapter_on": on, "carrier_on": kind}
