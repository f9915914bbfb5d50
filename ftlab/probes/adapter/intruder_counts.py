"""How many directions of adapted weights the base does not have, while it is trained.

On request only: the first count of a layer decomposes its base, which takes seconds for
2048 x 2048 on one core; each later one takes some products with it.
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar

import numpy as np
import torch

from ftlab.probes.adapter.intruders import (
    base_of,
    counted_again,
    known_directions,
    spread_over,
)
from ftlab.probes.adapter.lora_pairs import LoraPair, lora_pairs
from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.schedule import Seldom
from ftlab.records.step import Block, Column


class IntruderCounts(Probe):
    """Count intruders in some layers, evenly from first to last.

    Parameters
    ----------
    layers
        How many.
    interval
        Steps from one count to the next.
    """

    name: ClassVar[str] = "directions"
    table: ClassVar[str] = "directions"
    columns: ClassVar[Sequence[Column]] = (
        Column("intruders", "1", "Directions among the ten largest new to the base."),
    )

    def __init__(self, layers: int, interval: int = 64) -> None:
        self._layers = layers
        self.schedule = Seldom(interval)
        self._known: dict[str, torch.Tensor] = {}

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Count in the layers that can be read."""
        pairs = [pair for pair in lora_pairs(moment.subject.model) if not pair.reason]
        chosen = spread_over(pairs, self._layers)
        counts = [(pair, self._count(pair)) for pair in chosen]
        rows = [
            (moment.name(self.table, pair.name, "adapter", _meta(pair)), count)
            for pair, count in counts
            if count is not None
        ]
        if not rows:
            return ()
        ids = np.array([row for row, _ in rows], np.int32)
        values = {"intruders": np.array([count for _, count in rows], np.float32)}
        block = Block(self.table, moment.step, ids, values)
        return [Reading(torch.zeros(1), lambda _: [block])]

    def _count(self, pair: LoraPair) -> int | None:
        with torch.no_grad():
            if pair.module not in self._known:
                base = base_of(pair)
                if base is None:
                    return None
                self._known[pair.module] = known_directions(base)
            return counted_again(pair, self._known[pair.module])


def _meta(pair: LoraPair) -> dict[str, str]:
    return {"module": pair.module, "adapter": pair.adapter}
