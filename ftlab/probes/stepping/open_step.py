"""The optimizer step that is under way, as far as it has been seen."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.probe import Reading
from ftlab.probes.stepping.ledger import Ledger

Source = tuple[str, str]
"""Who measured and when: probe name and moment. A later reading replaces an earlier."""

MICRO_BATCHES = 4096
"""Micro-batches of one step whose readings are kept; the others are counted only."""


@dataclass(slots=True)
class OpenStep:
    """What is known of the step so far.

    Attributes
    ----------
    micro_batches
        Counted backwards that had a forward of their own.
    backwards
        All counted backwards.
    forwarded
        A forward with a graph was seen since the last backward.
    measured
        The gradients were measured since the last backward.
    attempted
        Optimizers that stepped or were skipped, by number.
    unscaled
        Optimizers whose gradients a scaler has brought to true scale, by number.
    scaler
        The scaler that scaled this step's losses.
    rescaled
        Scalers that have chosen a new scale since the last backward.
    by_hand
        Somebody changed scaled gradients himself, before a clipping or the update.
    versions
        State of the gradients when something that we know last wrote to them.
    draft
        Fields of the `StepRecord` that the host knows.
    values
        Further columns of it.
    loss
        Sum of the losses so far, on the device; ``None`` before the first.
    loss_known
        No loss was missing.
    readings
        What is still on the device.
    evaluated
        A forward without a graph was seen since the update.
    clip, clipped
        The ledger's entry of the last clipping, and the watched parameters that were
        clipped, by ``id``.
    """

    step: int
    ledger: Ledger = field(default_factory=Ledger)
    micro_batches: int = 0
    backwards: int = 0
    forwarded: bool = False
    measured: bool = False
    updating: bool = False
    attempted: set[int] = field(default_factory=set)
    unscaled: set[int] = field(default_factory=set)
    scaler: Any = None
    rescaled: list[Any] = field(default_factory=list)
    by_hand: bool = False
    versions: list[tuple[int, int] | None] = field(default_factory=list)
    draft: dict[str, Any] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)
    loss: torch.Tensor | None = None
    loss_known: bool = True
    readings: dict[Source, list[Reading]] = field(default_factory=dict)
    batch: dict[Source, list[Reading]] = field(default_factory=dict)
    trained: bool = False
    evaluated: bool = False
    clip: dict[str, Any] | None = None
    clipped: set[int] = field(default_factory=set)

    @property
    def micro_batch(self) -> int:
        """Number of the micro-batch that backward was last called for."""
        return self.micro_batches - 1

    def keep(self, source: Source, readings: Iterable[Reading]) -> None:
        """Keep readings in place of earlier ones from the same source."""
        self.readings[source] = list(readings)

    def end_micro_batch(self) -> None:
        """Make the readings of the last forward final."""
        self.backwards += 1
        if self.micro_batches <= MICRO_BATCHES:
            for source, readings in self.batch.items():
                self.readings.setdefault(source, []).extend(readings)
        else:
            dropped = self.micro_batches - MICRO_BATCHES
            self.values["micro_batches_dropped"] = float(dropped)
        self.batch.clear()
        self.forwarded = self.trained = False

    def add_loss(self, loss: torch.Tensor | None) -> None:
        """Add the loss of one backward; the sum is unknown when one of them is."""
        if loss is None:
            self.loss_known = False
        elif self.loss is None:
            self.loss = loss
        else:
            self.loss = self.loss + loss.to(self.loss.device)

    def is_spoilt(self) -> bool:
        """Tell whether the loss is no number, where telling makes nothing wait."""
        loss = self.loss if self.loss_known else None
        if type(loss) is not torch.Tensor or not loss.is_cpu:
            return False
        return not math.isfinite(float(loss.sum()))

    def read_loss(self) -> None:
        """Queue the sum of the losses."""
        if self.loss is not None and self.loss_known:
            self.keep(("loss", ""), [Reading(self.loss, self._set_loss)])

    def _set_loss(self, values: NDArray[np.float32]) -> tuple[()]:
        self.draft["loss"] = float(values[0])
        return ()

    def complete(self, optimizers: Iterable[int]) -> bool:
        """Whether all ``optimizers`` had their turn and the scaler chose its scale.

        What may still follow is a scheduler's step or cleared gradients.
        """
        if not (self.over and self.attempted.issuperset(optimizers)):
            return False
        ops = {entry.op for entry in self.ledger.records(self.step)}
        return self.scaler is None or "scaler_update" in ops

    @property
    def over(self) -> bool:
        """Whether an optimizer was stepped or skipped and none is stepping now."""
        return bool(self.attempted) and not self.updating
