"""The rule NUM018, loss-kept-high.

## What it does
Finds losses that cannot fall far below what guessing costs, whatever the model learns:
label smoothing that takes more than half of the target from the label, and cosine
similarities that are multiplied by a small constant.

## Why is this bad?
The loss looks as if nothing was learned, and the gradients say little. With
`label_smoothing` of 0.9 the best that a model can do is to give the label a tenth: the
loss cannot fall below 4.67 for 128 classes, where knowing nothing costs 4.85. Cosines
lie between -1 and 1 and should be divided by a temperature of 0.07; multiplied by it
they differ by 0.14 at most, and the loss cannot fall below 1.96 for 8 pairs, where
guessing costs 2.08.

## Evidence
The lowest possible loss against ln(C), the loss of guessing among C classes, from the
graph of the loss that backward is called on:
- *smoothing*: a sum of two products with constants, one of the label's entry of a
  log-softmax, the other of its sum or mean over the classes, and the constants add up
  to 1 (within 0.001). A `cross_entropy` with `label_smoothing` and the Trainer's
  `label_smoothing_factor` are built so. The share s that is spread over all classes is
  above 0.5; 0.1 is the value in the paper. The lowest loss is the entropy of the
  target: -q ln q - (C - 1) r ln r, with r = s / C, q = 1 - s + r.
- *similarities*: the constant f that the scores were multiplied by is below 1, and
  before that comes the product of two matrices, all of whose vectors have length 1
  (within 0.02, as in bf16) each time they are measured: so no score can exceed 1, at
  any time of the run. The lowest loss, ln(1 + (C - 1) exp(-2 f)), is above 0.8 of
  ln(C): with f = 0.05 and 32 pairs, 3.37 of 3.47. Scores of vectors of other lengths
  are not bounded and never found: a distilled student's at temperature 2 to 8, or a
  head's with a multiplier.
By hand: print `loss.grad_fn.next_functions[1][0]._saved_other`, which is s / C;
`logits.max() - logits.min()` of what the loss gets; `vectors.norm(dim=-1)`.

## What to try
1. `label_smoothing=0.1`, or 1 less what it is now.
2. `scores / temperature`, or `scores * scale` with a scale of 10 to 100.
3. Compare the loss with the lowest possible one, not with 0.

## Known problems
A loss with class weights beside the smoothing is not read, nor a target that is
smoothed before it is given to the loss. If most labels are wrong, this much can be
intended: silence the warning then. Vectors that have no gradient are not kept in the
graph: their lengths are unknown, and nothing is reported. The same holds for a scale
that is learned or lies on a GPU, and for `cosine_similarity`, which is not a matrix
product.

## References
- Szegedy et al. 2016, Rethinking the Inception Architecture, section 7 (0.1)
- torch, `torch.nn.CrossEntropyLoss` ("0.0 means no smoothing")
- transformers, `trainer_pt_utils.py`, `LabelSmoother`
- van den Oord et al. 2018 (the loss); Radford et al. 2021, section 2.3 (scale 1 / 0.07)
- sentence-transformers, `MultipleNegativesRankingLoss` (`scale=20`)
"""

import math
from collections.abc import Sequence

import numpy as np

from ftlab.rules.reading.asked import arguments
from ftlab.rules.reading.loss_rows import NEEDS, LossRow, loss_rows
from ftlab.rules.rule import Finding, Place, Results, Rule, Run
from ftlab.rules.words import number

HALF = 0.5
"""Share of the target that is spread over all classes, at most."""

UNIT = 0.02
"""How far a length may be from 1."""

MOST = 0.8
"""Share of ln(classes) that the lowest possible loss of similarities may be."""

OP = Place("op", "cross_entropy")


class LossKeptHigh(Rule):
    """Finds losses whose lowest possible value is near that of guessing."""

    code = "NUM018"
    requires = NEEDS

    def check(self, run: Run) -> Results:
        """Yield one finding of each kind, of the first such term."""
        rows = [row for row in loss_rows(run) if row.classes > 1]
        for row in rows:
            share = float(row.name.meta.get("smoothing", 0.0))
            if HALF < share <= 1:
                yield self._smoothed(run, row, share)
                break
        for row in rows:
            off = row.columns.get("off_unit", np.empty(0))
            if row.factor < 1 and len(off) and (off <= UNIT).all():
                # the label has cosine 1, and all others -1
                lowest = math.log1p((row.classes - 1) * math.exp(-2 * row.factor))
                if lowest > MOST * math.log(row.classes):
                    yield self._flattened(row, lowest)
                    break

    def _smoothed(self, run: Run, row: LossRow, share: float) -> Finding:
        trainer_s = bool(arguments(run).get("label_smoothing_factor"))
        option = f"label_smoothing{'_factor' if trainer_s else ''}"
        return self._finding(
            row,
            "smoothing",
            lowest_loss(share, row.classes),
            f"label smoothing spreads {number(share)} of the target over {row.classes} "
            "classes: the loss",
            cause="The smoothing is the share spread over all classes; it seems to "
            "have been set to the label's own share.",
            fix=f"{option}={number(1 - share)}, or 0.1.",
            places=[Place("config", option), OP],
            smoothing=share,
            threshold=HALF,
        )

    def _flattened(self, row: LossRow, lowest: float) -> Finding:
        op = row.text("factor_op")
        return self._finding(
            row,
            "similarities",
            lowest,
            f"cosine similarities are multiplied by {number(row.factor)} before the "
            "loss, which",
            cause="The scores are multiplied by the temperature instead of divided by "
            "it: the softmax stays nearly uniform for any vectors."
            if op == "mul"
            else "The scores of unit vectors are divided by a number above 1: the "
            "softmax stays nearly uniform for any vectors.",
            fix="Divide by the temperature, or multiply by a scale of 10 to 100.",
            places=[Place("op", op), OP],
            factor=row.factor,
            entropy=float(row.columns["loss_entropy"][-1]),
            threshold=MOST * math.log(row.classes),
        )

    def _finding(
        self,
        row: LossRow,
        reason: str,
        lowest: float,
        says: str,
        *,
        cause: str,
        fix: str,
        places: Sequence[Place],
        **evidence: float,
    ) -> Finding:
        step, chance = int(row.steps[0]), math.log(row.classes)
        bounds = {"lowest_loss": lowest, "guessing": chance}
        return self.warning(
            f"step {step}: {says} cannot fall below {number(lowest)}, and guessing "
            f"gives {number(chance)}",
            cause=cause,
            fix=fix,
            places=places,
            steps=(step, int(row.steps[-1])),
            reason=reason,
            evidence={**bounds, **evidence},
            healthy="a loss that can fall to nearly 0: smoothing of about 0.1, scores "
            "that may differ by 10 or more",
        )


def lowest_loss(share: float, classes: int) -> float:
    """Return the lowest loss that is possible with label smoothing.

    Examples
    --------
    >>> from ftlab.rules.numeric.loss_kept_high import lowest_loss
    >>> round(lowest_loss(0.1, 128), 2), round(lowest_loss(0.9, 128), 2)
    (0.8, 4.67)
    """
    rest = share / classes
    label = 1 - share + rest
    return -sum(n * p * math.log(p) for n, p in ((1, label), (classes - 1, rest)) if p)
