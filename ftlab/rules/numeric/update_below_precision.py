"""The rule NUM002, update-below-precision.

## What it does
Finds weights that the optimizer steps but that do not move, because the update is
smaller than half the distance to the next number that their dtype can represent.

## Why is this bad?
bf16 keeps 8 significant bits: near 1.0 the next number is 1.0078, so an update of 1e-5
is rounded away at every step, for ever. Gradients and learning rate look normal.

## Evidence
`stuck_share`: of the sampled elements (4,096 per tensor) whose gradient is not 0, the
share whose stored value did not change in a step that was not skipped and had a
learning rate above 0; and the dtype.
- A tensor counts when in the median 90 % of it is stuck, and at none of at least 2
  measurements less than 75 % (Adam's first updates are the largest), taken while the
  learning rate was at its height (at least half of the largest, and not rising any
  more): in warm-up and at the end of a decay small updates are intended.
- A tensor is not judged where even lr x gradient is 64 times half a step of its dtype:
  that is not rounded away, and an optimizer that writes nothing is NUM003.
- An optimizer from outside torch, transformers and bitsandbytes may keep what rounding
  took away (Kahan), or round stochastically. Then `still_share` must show over 32 steps
  that the same weights stay. Measured in bf16 at lr 1e-6: a plain AdamW left 98 % where
  they were over 16 as over 128 steps, a Kahan sum 89 % and 37 %.
- The finding needs 10 % of all trainable elements in such tensors: at common bf16
  learning rates the norm weights (1.0) do not move in otherwise healthy runs.
Measured on a small Llama (weights of 0.02) with AdamW, share of stuck elements, median
over tensors without the norms: in pure bf16 0.99 at lr 1e-6, 0.89 at 1e-5, 0.25 at 1e-4
and 0.01 at 1e-3; norm weights 1.00 at all of them. In float32 under autocast 0.00.

## What to try
1. Keep the trained weights in float32 and compute in bf16: load in float32 and set
   `bf16=True`; PEFT does so for adapters (`autocast_adapter_dtype=True`).
2. An optimizer with stochastic rounding or Kahan summation (torchao, optimi).
3. A higher learning rate, where the task allows it.

## Known problems
An optimizer that keeps float32 master copies elsewhere changes the stored weight only
now and then; such weights are in no group and are therefore not judged.

## References
- Zamirai et al. 2020, Revisiting BFloat16 training (arXiv:2010.06192)
- pytorch/ao#1124, meta-pytorch/torchtune#2254
"""

import numpy as np

from ftlab.records.names import NameRecord
from ftlab.rules.reading.rounding import rounded_away
from ftlab.rules.reading.standstill import (
    HALF,
    STUCK,
    WEIGHT,
    at_height,
    coarse,
    rate_of,
    standing,
)
from ftlab.rules.reading.tensors import elements, params, records_of
from ftlab.rules.reading.updates import effective
from ftlab.rules.rule import Results, Rule, Run, Severity, needs_column
from ftlab.rules.words import at_steps, counted, in_words, number

MOST = 0.5
"""Share of all trainable elements from which on it is an error."""


class UpdateBelowPrecision(Rule):
    """Finds weights that rounding keeps where they are."""

    code = "NUM002"
    status = "stable"
    requires = needs_column(
        "stuck_share",
        "the share of weights that an update left unchanged",
        "ftlab.watch(...) for at least two measurements of the update (every 16 steps)",
    )
    caused_by = ("EXP012", "ADP019", "OPT021")

    def check(self, run: Run) -> Results:
        """Yield one finding for all tensors that stand still."""
        matrix = run.matrix("stuck_share").measured()
        if not len(matrix.steps):
            return
        names = records_of(run, matrix.ids)
        counts = at_height(effective(run), matrix.steps, names)
        counts &= matrix.known & ~np.isnan(matrix.values)
        mask = standing(matrix.values, counts)
        mask &= ~coarse(run, matrix.ids, names) & rounded_away(run, matrix.ids, names)
        sizes = elements(names)
        share = float(sizes[mask].sum() / sizes.sum())
        if share < WEIGHT:
            return
        affected = [name for name, found in zip(names, mask, strict=True) if found]
        lines = np.flatnonzero(counts[:, mask].any(axis=1))
        first, last = int(matrix.steps[lines[0]]), int(matrix.steps[lines[-1]])
        worst = float(matrix.values[:, mask][counts[:, mask]].mean())
        dtypes = sorted({name.dtype.rpartition(".")[2] for name in affected})
        rate = rate_of(run, affected)
        yield self.finding(
            Severity.ERROR if share >= MOST else Severity.WARNING,
            f"{at_steps(first, last)}: {number(100 * worst)} % of the weights in "
            f"{counted(len(affected), 'tensor')} ({number(100 * share)} % of the "
            "trained elements) did not move: "
            f"{in_words(name.name for name in affected)}",
            cause=f"Their dtype is {' and '.join(dtypes)}, and at a learning rate of "
            f"{number(rate)} the update is below half its precision: rounded away.",
            fix=_fix(dtypes),
            places=params(sorted(affected, key=lambda name: -_size(name))),
            steps=(first, last),
            evidence={
                "stuck_share": worst,
                "threshold": STUCK,
                "share_of_elements": share,
                "dtype": ", ".join(dtypes),
                "lr": rate,
            },
            healthy="less than a tenth of the weights keep their value in an update",
        )


def _fix(dtypes: list[str]) -> str:
    if HALF.isdisjoint(dtypes):
        return (
            "Raise the learning rate: the update is too small even for this dtype. If "
            "the rate looks right, check in watch.loss what clipping leaves of the "
            "gradients."
        )
    return (
        "Keep the trained weights in float32 and compute in bf16 under autocast, or "
        "use an optimizer with stochastic rounding."
    )


def _size(name: NameRecord) -> float:
    return float(elements([name])[0])
