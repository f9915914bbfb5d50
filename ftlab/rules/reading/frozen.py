"""Changes of frozen weights, as the probe of frozen weights recorded them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from ftlab.records.names import NameRecord
from ftlab.rules.reading.tensors import text_of
from ftlab.runlog.run import Run

TABLE = "frozen"

EPSILON = {
    "float64": 2.0**-52,
    "float32": 2.0**-23,
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
}
"""Distance of 1 to the next number, by dtype."""

PER_CYCLE = 8.0
"""Epsilons of the mean magnitude by which rounding may change a weight per cycle.

Measured over 100 merge cycles at learning rates from 1e-4 to 1e-2: at most 2.6 in the
first cycle, 2.8 per cycle later (DoRA in bf16), about 1 as a rule. What is rounded is
the weight with the adapter in it: where that is larger than the weight, so is the
rounding: 13 per cycle with an adapter of 38 times the weight.
"""

UNHEARD = 2.0**-17
"""Relative change of a weight under an adapter that is left of merges by hand.

64 epsilons of float32. Measured over 200 cycles of `+=` and `-=`, one after each step
at learning rates from 1e-4 to 1e-2: 16 epsilons of the weight with the adapter in it.
"""

UNSURE = 64 * UNHEARD
"""The same under an adapter of 63 times the weight: below it, sizes must be known."""


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one frozen weight.

    Attributes
    ----------
    relative
        Largest change of a sampled element, over the mean magnitude.
    share
        Share of sampled elements that have changed.
    cycles
        How often its layer was unmerged since the weight was first seen.
    first, last
        Steps at which it was seen changed.
    adapter
        Size of what was merged into it, over its own: 0 where that is not known.
    gradients
        Largest elements of the gradient that it had left, each time it was compared.
    """

    name: NameRecord
    relative: float
    share: float
    cycles: int
    first: int
    last: int
    adapter: float = 0.0
    gradients: tuple[float, ...] = ()

    @property
    def layer(self) -> str:
        """Path of the adapter layer that the weight stands in, ``""`` for none."""
        return text_of(self.name, "module")

    @property
    def stepped(self) -> bool:
        """Whether an optimizer holds it and it has a gradient left.

        An adapter may be frozen by the next one's turn before the step that is its own:
        its gradient counts only where backward did not make it anew.
        """
        meta = self.name.meta
        held = int(meta.get("group", -1)) >= 0 and meta.get("has_grad") is True
        return held and (not self.of_adapter or self._is_left_over())

    @property
    def of_adapter(self) -> bool:
        """Whether it is part of an adapter."""
        return text_of(self.name, "role") == "adapter"

    def _is_left_over(self) -> bool:
        first = self.gradients[:1]
        same = all(each == first[0] for each in self.gradients)
        return same and (first == (0.0,) or len(self.gradients) > 1)

    @property
    def quantized(self) -> bool:
        """Whether the sample is of packed bytes: its size means nothing then."""
        return bool(self.name.meta.get("quantized", False))

    @property
    def tied(self) -> list[str]:
        """The weight's other names."""
        text = text_of(self.name, "tied")
        return text.split(",") if text else []

    @property
    def may_be_merged(self) -> bool:
        """Whether an adapter stands on it, and no optimizer has changed it."""
        return bool(self.layer) and not self.stepped

    @property
    def by_rounding(self) -> bool:
        """Whether the rounding of merge cycles, heard or not, explains the change."""
        if self.quantized:
            return self.cycles > 0
        merged = 1.0 + self.adapter
        if not self.cycles:
            return self.may_be_merged and self.relative <= UNHEARD * merged
        epsilon = EPSILON.get(self.name.dtype, 0.0)
        return self.relative <= PER_CYCLE * epsilon * self.cycles * merged


def changes_of(run: Run) -> list[Change]:
    """Return every frozen weight that changed, as it was last compared.

    A frozen adapter is loaded, filled and swapped: only an optimizer may not move it.
    """
    if TABLE not in run.tables():
        return []
    matrix = run.matrix("delta_max", TABLE)
    columns = {
        column: run.matrix(column, TABLE).values
        for column in ("delta_share", "mean_abs", "cycles", "gradient")
    }
    names, found, sizes = run.names(TABLE), [], adapter_sizes(run)
    sized = _last_sized(run)
    for column, row in enumerate(matrix.ids.tolist()):
        seen = np.flatnonzero(matrix.known[:, column])
        if not len(seen) or row not in names:
            continue
        last = int(seen[-1])
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = matrix.values[last, column] / columns["mean_abs"][last, column]
        change = Change(
            names[row],
            float(relative),
            float(columns["delta_share"][last, column]),
            int(columns["cycles"][last, column]),
            int(matrix.steps[seen[0]]),
            int(matrix.steps[last]),
            sizes.get(text_of(names[row], "module"), 0.0),
            tuple(columns["gradient"][seen, column].tolist()),
        )
        if change.relative < UNSURE and change.may_be_merged and change.first > sized:
            continue  # the next look at the adapters tells
        if change.stepped or not change.of_adapter:
            found.append(change)
    return found


def _last_sized(run: Run) -> int:
    """Return the last step at which the adapters' sizes were measured."""
    if "ratio" not in run.columns("adapters"):
        return run.last_step
    matrix = run.matrix("ratio", "adapters")
    return int(matrix.steps[matrix.known.any(axis=1)].max(initial=-1))


def adapter_sizes(run: Run) -> dict[str, float]:
    """Return by layer the largest size of its adapters, over that of the weight."""
    sizes: dict[str, float] = {}
    if "ratio" in run.columns("adapters"):
        matrix, names = run.matrix("ratio", "adapters"), run.names("adapters")
        largest = np.nan_to_num(matrix.values).max(axis=0, initial=0.0)
        for row, size in zip(matrix.ids.tolist(), largest.tolist(), strict=True):
            layer = text_of(names[row], "module") if row in names else ""
            sizes[layer] = max(sizes.get(layer, 0.0), size)
    return sizes


def base_weights(run: Run, layers: Sequence[str]) -> list[str]:
    """Name the weights under adapter layers, as seen or as PEFT names them."""
    seen: dict[str, list[str]] = {}
    for name in run.names(TABLE).values():
        seen.setdefault(text_of(name, "module"), []).append(name.name)
    return [
        name
        for path in layers
        for name in seen.get(path) or [f"{path}.base_layer.weight"]
    ]


def latest_change(run: Run, weights: Collection[str]) -> float:
    """Return the largest relative change among these weights, 0 when none was seen."""
    wanted = set(weights)
    found = (each for each in changes_of(run) if each.name.name in wanted)
    return max((each.relative for each in found if not each.quantized), default=0.0)
