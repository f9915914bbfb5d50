"""The rule NUM019, flattened-similarities.

## What it does
Finds losses of cosine similarities that are multiplied by a small constant, so that the
softmax stays nearly uniform whatever the vectors are.

## Why is this bad?
Cosines lie between -1 and 1, and should be divided by a temperature of 0.07. Multiplied
by it they differ by 0.14 at most: the loss cannot fall below
ln(1 + (C - 1) / e^0.14), which is 1.96 for 8 pairs, where guessing costs 2.08. Its
gradients are nearly those of a uniform softmax, and hard pairs weigh no more than
others.

## Evidence
The graph behind a cross entropy: the constant f that its scores were multiplied by,
below 1, and before that the product of two matrices, which it keeps. All vectors in
both have length 1 (within 0.02, as in bf16), each time they are measured: so no score
can exceed 1, at any time of the run. The lowest loss, ln(1 + (C - 1) exp(-2 f)), is
above 0.8 of ln(C): with f = 0.05 and 32 pairs, 3.37 of 3.47. Scores of vectors of other
lengths are not bounded and never found: a distilled student's at temperature 2 to 8, or
a head's with a multiplier.
By hand: `logits.max() - logits.min()` of what the loss gets; `vectors.norm(dim=-1)`.

## What to try
1. `scores / temperature`, or `scores * scale` with a scale of 10 to 100.

## Known problems
Vectors that have no gradient are not kept in the graph: their lengths are unknown, and
nothing is reported. The same holds for a scale that is learned or lies on a GPU, and
for `cosine_similarity`, which is not a matrix product.

## References
- van den Oord et al. 2018 (the loss); Radford et al. 2021, section 2.3 (scale 1 / 0.07)
- sentence-transformers, `MultipleNegativesRankingLoss` (`scale=20`)
"""

import math
from collections.abc import Iterator

import numpy as np

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.rules.reading.loss_rows import LossRow, loss_rows
from ftlab.rules.rule import Rule, needs_column
from ftlab.rules.words import number
from ftlab.runlog.run import Run

UNIT = 0.02
"""How far a length may be from 1."""

MOST = 0.8
"""Share of ln(classes) that the lowest possible loss may be."""


class FlattenedSimilarities(Rule):
    """Finds cosines whose softmax a constant keeps even."""

    code = "NUM019"
    name = "flattened-similarities"
    since = "0.1.0"
    status = "preview"
    requires = (
        needs_column(
            "off_unit",
            "the vectors whose products are a loss's scores",
            "ftlab.watch(...) with its standard probes, and a cross entropy",
            "losses",
        ),
    )

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding, of the first such term."""
        for row in loss_rows(run):
            off = row.columns.get("off_unit", np.empty(0))
            if row.factor >= 1 or row.classes < 2 or not len(off):
                continue
            lowest, chance = _lowest(row), math.log(row.classes)
            if (off <= UNIT).all() and lowest > MOST * chance:
                yield self._found(row, lowest, chance)
                return

    def _found(self, row: LossRow, lowest: float, chance: float) -> Finding:
        step, op = int(row.steps[0]), row.text("factor_op")
        return self.finding(
            Severity.WARNING,
            f"step {step}: cosine similarities are multiplied by {number(row.factor)} "
            f"before the loss, which cannot fall below {number(lowest)}; guessing "
            f"gives {number(chance)}",
            cause="The scores are multiplied by the temperature instead of divided by "
            "it: the softmax stays nearly uniform for any vectors."
            if op == "mul"
            else "The scores of unit vectors are divided by a number above 1: the "
            "softmax stays nearly uniform for any vectors.",
            fix="Divide by the temperature, or multiply by a scale of 10 to 100.",
            places=[Place("op", op), Place("op", "cross_entropy")],
            steps=(step, int(row.steps[-1])),
            evidence={
                "factor": row.factor,
                "lowest_loss": lowest,
                "guessing": chance,
                "entropy": float(row.columns["loss_entropy"][-1]),
                "threshold": MOST * chance,
            },
            healthy="scores that may differ by 10 or more",
        )


def _lowest(row: LossRow) -> float:
    """Return the loss of a row whose label has cosine 1 and all others -1."""
    return math.log1p((row.classes - 1) * math.exp(-2 * row.factor))
