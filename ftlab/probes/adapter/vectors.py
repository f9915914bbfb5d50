"""Vectors that an adapter multiplies activations with, as those of IA3.

They start at 1, which changes nothing. Their norm does not tell 1 from numbers drawn
around 0, so their mean, their spread and their distance from 1 are taken. They are as
long as an activation is wide: to take them at each step costs next to nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.records.step import Block, Column

PART = ".ia3_l."
"""What stands between a layer's path and the adapter in the name of its vector."""


class Vectors(Probe):
    """Measure every trainable vector of IA3, as the step's forward used it."""

    light = False
    table: ClassVar[str] = "vectors"
    columns = (
        Column("vector_mean", "1", "Mean of the vector."),
        Column("vector_spread", "1", "Standard deviation of the vector."),
        Column("off_one", "1", "Largest distance of an element from 1."),
    )

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Queue the measures of all vectors of one length at once."""
        groups: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        for index, name in enumerate(moment.tensors.names):
            vector = moment.tensors.parameters[index]
            if PART in name and vector.numel() and not vector.is_meta:
                groups[vector.numel(), vector.dtype, vector.device].append(index)
        self.rests = not groups
        return [_read(moment, group) for group in groups.values()]


def _read(moment: Moment, group: list[int]) -> Reading:
    vectors = [moment.tensors.parameters[index] for index in group]
    ids = np.array([_row(moment, index) for index in group], np.int32)
    stack = torch.stack([vector.detach().flatten().float() for vector in vectors])
    spread, mean = torch.std_mean(stack, dim=1, correction=0)
    off = (stack - 1).abs().amax(dim=1)

    def finish(flat: NDArray[np.float32]) -> Iterator[Block]:
        names = [column.name for column in Vectors.columns]
        columns = dict(zip(names, flat.reshape(len(names), -1), strict=True))
        yield Block(Vectors.table, moment.step, ids, columns)

    return Reading(torch.cat([mean, spread, off]), finish)


def _row(moment: Moment, index: int) -> int:
    path, _, adapter = moment.tensors.names[index].partition(PART)
    meta = {
        "role": "vector",
        "adapter": adapter,
        "module": path,
        "param": int(moment.tensors.ids[index]),
        "size": moment.tensors.parameters[index].numel(),
    }
    return moment.name(Vectors.table, f"{path} [{adapter}]", "adapter", meta)
