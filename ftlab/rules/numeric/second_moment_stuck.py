"""The rule NUM008, second-moment-stuck.

## What it does
Finds second moments in half precision that no longer fall, although the gradients have
become far smaller.

## Why is this bad?
With beta2 = 0.999 a second moment falls by a thousandth per update. bf16 has steps of
1/256 to 1/128: the result is rounded back to what it was, at every update, for ever.
One large gradient thus lowers the effective learning rate of all later updates.

## Evidence
`moment2_l2` between two measurements with at least 8 updates in between, `grad_l2` and
`grad_max` of all these updates, beta2, and the dtype. The norm has moved by less than a
tenth of what beta2 makes it fall, and even the largest gradient in between, squared, is
a hundredth of it at most: these weights move 10 times too slowly. An upper bound of the
norm of squared gradients is used (`grad_l2` x `grad_max`), so the real factor is
larger. A warning with half of all trained elements in such tensors.
Measured on a linear layer in bf16 after one batch that was 100 times too large: the
norm was 926.3409 at each measurement from step 0 to 16; in float32 it fell by 1.6 %.
By hand: `optimizer.state[p]["exp_avg_sq"].norm()` at two steps.

## What to try
1. Keep weights, and thus moments, in float32 and compute in bf16 under autocast.
2. beta2 = 0.95: a fall of a twentieth is more than a step of bf16.
3. Clip gradients from the first step on, and warm the learning rate up.

## Known problems
When found after few steps, it is no slower yet than in float32, which needs thousands
of updates to recover as well; but in bf16 it never does.

## References
- Nerogar/OneTrainer#1005 (moments in bf16)
- Zamirai et al. 2020, Revisiting BFloat16 training (arXiv:2010.06192)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ftlab.records.names import NameRecord
from ftlab.rules.reading.standstill import HALF
from ftlab.rules.reading.tensors import elements, group_of, records_of
from ftlab.rules.reading.updates import effective
from ftlab.rules.rule import Finding, Results, Rule, Run, needs_column
from ftlab.rules.words import at_steps, counted, in_words, number

UPDATES = 8
"""Updates between two measurements."""

FALLEN = 0.1
"""Share of what beta2 takes off, below which nothing has fallen."""

FACTOR = 10.0
"""How many times too slowly the weights move."""

WEIGHT = 0.5
"""Share of the trained elements."""


@dataclass(frozen=True, slots=True)
class _Stuck:
    """A tensor whose second moment stays, from when to when, and what it is beside."""

    name: NameRecord
    first: int
    last: int
    moment: float
    square: float


class SecondMomentStuck(Rule):
    """Finds second moments that rounding keeps at a height of long ago."""

    code = "NUM008"
    requires = needs_column(
        "moment2_l2",
        "the optimizer's second moments",
        "ftlab.watch(...) for at least 9 steps with an optimizer like AdamW",
    )

    def applies(self, run: Run) -> bool:
        """Tell whether anything is trained in half precision, as far as is known."""
        names = run.names("tensors").values()
        return not names or any(map(_is_half, names))

    def check(self, run: Run) -> Results:
        """Yield one finding for all tensors."""
        found = list(_stuck(run))
        names = list(run.names("tensors").values())
        weight = elements([each.name for each in found]).sum()
        if found and weight >= WEIGHT * elements(names).sum():
            yield self._finding(found, float(weight / elements(names).sum()))

    def _finding(self, found: Sequence[_Stuck], share: float) -> Finding:
        worst = max(found, key=lambda each: each.moment / max(each.square, 1e-45))
        factor = float(np.sqrt(worst.moment / max(worst.square, 1e-45)))
        steps = min(e.first for e in found), max(e.last for e in found)
        names = [each.name for each in found]
        return self.warning(
            f"{at_steps(*steps)}: the second moments of "
            f"{counted(len(found), 'tensor')} ({number(100 * share)} % of the trained "
            f"elements) do not decay, e.g. {number(worst.moment)} with squared "
            f"gradients of up to {number(worst.square)}: "
            f"{in_words(name.name for name in names)}",
            cause=f"exp_avg_sq is {names[0].dtype.rpartition('.')[2]}: the decay by "
            "beta2 at an update is less than half its precision, and rounded away. "
            f"Updates are {number(factor)} times too small.",
            fix="Keep weights and moments in float32 and compute in bf16 under "
            "autocast, or set betas=(0.9, 0.95).",
            places={"optimizer": "exp_avg_sq", "param": [name.name for name in names]},
            steps=steps,
            evidence={
                "factor": factor,
                "threshold": FACTOR,
                "moment2_l2": worst.moment,
                "squared_gradients": worst.square,
                "share_of_elements": share,
            },
            healthy="second moments follow the squared gradients",
        )


def _is_half(name: NameRecord) -> bool:
    return name.dtype.rpartition(".")[2] in HALF


def _stuck(run: Run) -> Iterator[_Stuck]:
    """Compare the latest second moment of each tensor with those before it."""
    moments, squares = run.matrix("moment2_l2").measured(), _squares(run)
    updates, betas = effective(run), _betas(run)
    names = records_of(run, moments.ids)
    for name, values in zip(names, moments.values.T, strict=True):
        beta = betas.get(group_of(name))
        lines = np.flatnonzero(np.isfinite(values))
        if beta is None or not _is_half(name) or len(lines) < 2:
            continue
        last, value = int(moments.steps[lines[-1]]), float(values[lines[-1]])
        for line in lines[:-1].tolist():
            first = int(moments.steps[line])
            count = updates.count(group_of(name), first + 1, last + 1)
            fall = 1 - beta**count
            before = float(values[line])
            square = squares.get(name.id, {})
            largest = max(square.get(s, np.inf) for s in range(first + 1, last + 1))
            held = abs(value - before) <= FALLEN * fall * before
            if count >= UPDATES and held and largest * FACTOR**2 <= value:
                yield _Stuck(name, first, last, value, largest)
                break


def _squares(run: Run) -> dict[int, dict[int, float]]:
    """Return, by tensor and step, a bound of the norm of the squared gradient."""
    norms, peaks = run.matrix("grad_l2"), run.matrix("grad_max")
    if norms.shape != peaks.shape:
        return {}
    bound: NDArray[np.float32] = norms.values * peaks.values
    return {
        row: dict(zip(norms.steps.tolist(), column.tolist(), strict=True))
        for row, column in zip(norms.ids.tolist(), bound.T, strict=True)
    }


def _betas(run: Run) -> dict[int, float]:
    """Return beta2 of each group, counted over all optimizers."""
    groups = [g for each in run.facts.optimizers for g in each.get("groups", ())]
    found = {}
    for index, group in enumerate(groups):
        betas = group.get("betas")
        if isinstance(betas, list | tuple) and len(betas) == 2:
            found[index] = float(betas[1])
    return found
