"""What somebody has added of an adapter to its base weights, as the probe saw it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ftlab.rules.reading.lora import begun_anew
from ftlab.rules.reading.tensors import text_of
from ftlab.runlog.run import Run

TABLE = "hand_merges"

Kind = Literal["right", "unscaled", "unrooted", "repeated", "transposed", "other"]

EXACT = 0.02
"""Relative distance of a factor from what it should be, where nothing was rounded."""

PER_OFF = 0.25
"""What is added to it for each share that is left unexplained: 4 deviations."""

HALF = 0.5
"""Share of an adapter's layers that must tell the same."""

SAME = 0.1
"""Relative distance from 1 up to which a scaling makes no difference."""


@dataclass(frozen=True, slots=True)
class HandMerge:
    """One look at one adapter's part in one weight.

    Attributes
    ----------
    factor
        How often the weight holds what the adapter adds.
    off
        Share of the change that this leaves unexplained.
    live
        Whether the model was used with the adapter on as well.
    """

    step: int
    module: str
    adapter: str
    factor: float
    off: float
    turned: bool
    live: bool
    scaling: float
    rank: int
    alpha: float

    @property
    def kind(self) -> Kind:
        """What explains the factor."""
        if self.turned:
            return "transposed"
        if self._is(1.0):
            return "right"
        scaled = abs(self.scaling - 1) > SAME
        if scaled and self._is(1 / self.scaling):
            return "unscaled"
        if self._is_rooted() and self._is(self.rank**-0.5):
            return "unrooted"
        times = round(self.factor)
        if (times > 1 and self._is(times)) or (scaled and self._is(self.scaling)):
            return "repeated"
        return "other"

    def _is_rooted(self) -> bool:
        """Tell a scaling of alpha / sqrt(r), and not alpha / r."""
        rooted = self.alpha / self.rank**0.5 if self.rank > 1 else 0.0
        return rooted > 0 and abs(self.scaling / rooted - 1) <= SAME

    def _is(self, factor: float) -> bool:
        near = (EXACT + PER_OFF * self.off) * factor
        return abs(self.factor - factor) <= near


def hand_merges(run: Run) -> Iterator[list[HandMerge]]:
    """Yield what was seen of each adapter at each step, by step.

    Layers whose adapter was set back to 0 are left out: what is merged and begun anew
    (ReLoRA) cannot be compared with it any more.
    """
    if TABLE not in run.tables():
        return
    restarted = begun_anew(run)
    found: dict[tuple[int, str], list[HandMerge]] = {}
    for each in _looks(run):
        if each.module not in restarted and each.factor > 0:
            found.setdefault((each.step, each.adapter), []).append(each)
    for key in sorted(found):
        yield found[key]


def kind_of(seen: list[HandMerge]) -> tuple[Kind, list[HandMerge]]:
    """Return what most of the layers tell, and those that do."""
    kind, count = Counter(each.kind for each in seen).most_common(1)[0]
    if count < HALF * len(seen):
        return "other", seen
    return kind, [each for each in seen if each.kind == kind]


def _looks(run: Run) -> Iterator[HandMerge]:
    names = run.names(TABLE)
    columns = ("factor", "off", "turned", "live", "scaling")
    matrices = {column: run.matrix(column, TABLE) for column in columns}
    factor = matrices["factor"]
    for column, row in enumerate(factor.ids.tolist()):
        meta = names[row].meta if row in names else {}
        for index in np.flatnonzero(factor.known[:, column]) if meta else ():
            values = {n: float(m.values[index, column]) for n, m in matrices.items()}
            yield HandMerge(
                int(factor.steps[index]),
                text_of(names[row], "module"),
                text_of(names[row], "adapter"),
                values["factor"],
                values["off"],
                values["turned"] > 0,
                values["live"] > 0,
                values["scaling"],
                int(meta.get("rank", 0)),
                float(meta.get("alpha", 0.0)),
            )
