"""Norms of the trainable weights, on a schedule."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ftlab.probes.probe import Moment, Probe, Reading, Result
from ftlab.probes.schedule import every
from ftlab.probes.tensors.reductions import l2_norms
from ftlab.records.step import Block, Column


class Weights(Probe):
    """L2 norm of each trainable parameter, just before the update.

    Parameters
    ----------
    interval
        Steps between two measurements: in full fine-tuning the norms of all weights
        cost as much as those of all gradients.
    beside
        Measure at the steps of this probe instead: an update says little without the
        weight that it is added to, and a budget lets each probe have turns of its own.
    """

    light = False
    name = "weights"
    table = "tensors"
    columns = (Column("weight_l2", "1", "L2 norm of the weight before the update."),)

    def __init__(self, interval: int = 16, *, beside: Probe | None = None) -> None:
        if beside is None:
            self.schedule = every(interval)
        else:
            self.schedule = lambda step: beside.schedule(step)

    def before_update(self, moment: Moment) -> Iterator[Reading]:
        """Queue the norms."""
        if not moment.tensors.parameters:
            return
        ids, step = moment.tensors.ids, moment.step

        def finish(values: NDArray[np.float32]) -> Iterator[Result]:
            yield Block(self.table, step, ids, {"weight_l2": values})

        yield Reading(l2_norms([p.data for p in moment.tensors.parameters]), finish)
