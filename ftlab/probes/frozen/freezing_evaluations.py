"""What was frozen for the length of an evaluation, and was not thawed with the rest.

A helper freezes everything to use the model, and thaws by name what learned before.
What its names miss stays frozen, in the optimizer and without a word. PEFT freezes as
well while an adapter is off or not the active one; that is left alone.
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar

import numpy as np
import torch

from ftlab.probes.adapter.adapter_tree import adapted_layers
from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.records.step import Block, Column


class FreezingEvaluations(Probe):
    """Name what learned before an evaluation and was not thawed after it."""

    light = False
    table: ClassVar[str] = "unthawed"
    columns: ClassVar[Sequence[Column]] = (
        Column("thawed", "1", "Tensors that were frozen with it and thawed again."),
    )

    def __init__(self) -> None:
        self._frozen: tuple[str, ...] = ()
        self._before: frozenset[str] = frozenset()

    def on_evaluation(self, moment: Moment) -> Iterable[Reading]:
        """Look what of the trained is frozen while the model is used."""
        tensors = moment.tensors
        learned = zip(tensors.names, tensors.parameters, strict=True)
        frozen = [name for name, weight in learned if not weight.requires_grad]
        self._before = frozenset(tensors.names)
        by_peft = _frozen_by_peft(moment.subject.model, frozen) if frozen else ()
        self._frozen = tuple(name for name in frozen if name not in by_peft)
        return ()

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Compare with what learns now; what is new here was not thawed by name."""
        frozen, self._frozen = self._frozen, ()
        now = frozenset(moment.tensors.names)
        missed = [name for name in frozen if name not in now]
        thawed = len(frozen) - len(missed)
        if not missed or not thawed or now - self._before:
            return ()
        rows = [moment.name(self.table, each, "param", {}) for each in missed]
        values = {"thawed": np.full(len(rows), thawed, np.float32)}
        block = Block(self.table, moment.step, np.array(rows, np.int32), values)
        return (Reading(torch.zeros(0), lambda _: (block,)),)


def _frozen_by_peft(model: torch.nn.Module, names: Iterable[str]) -> set[str]:
    """Return those of adapters that are off, or not active, now."""
    idle: set[str] = set()
    for layer in adapted_layers(model):
        active = [] if layer.module.disable_adapters else layer.module.active_adapters
        idle.update(each for each in layer.adapters if each not in active)
    return {name for name in names if idle.intersection(name.split("."))}
