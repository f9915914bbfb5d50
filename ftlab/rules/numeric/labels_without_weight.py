"""The rule NUM020, labels-without-weight.

## What it does
Finds labels that a class weight of 0 takes out of the loss.

## Why is this bad?
Class weights that are computed from a sample in which a class does not occur are 0
there (or infinite, and replaced by 0). None of its samples counts, the model never
learns to predict it, and a batch with no other class has a loss of NaN.

## Evidence
The cross entropy that backward is called on keeps its `weight` and its labels. A share
of the labels that are not ignored belongs to classes whose weight is exactly 0.
By hand: `(weight[labels[labels != -100]] == 0).float().mean()`.

## What to try
1. Compute the weights from all of the training set, and add 1 to each count.
2. To exclude a class, set its labels to -100, which is explicit.

## Known problems
Leaving a class out with a weight of 0 is common and legal (padding; the unlabelled
points of SemanticKITTI in PRBonn/lidar-bonnetal, beside weights computed from counts),
and no measurement tells it from a mistake: it is reported as info. It depends on
whether the class should be predicted. Weights of a binary cross entropy are not read.

## References
- torch, `torch.nn.CrossEntropyLoss` (`weight`, and the mean divided by its sum)
"""

import numpy as np

from ftlab.rules.reading.loss_rows import LossRow, loss_rows
from ftlab.rules.rule import Finding, Results, Rule, Run, needs_column
from ftlab.rules.words import number


class LabelsWithoutWeight(Rule):
    """Finds classes that occur and weigh nothing."""

    code = "NUM020"
    requires = needs_column(
        "weightless",
        "the class weights of a cross entropy",
        "ftlab.watch(...) with its standard probes, and a cross entropy",
        "losses",
    )

    def check(self, run: Run) -> Results:
        """Yield one finding for each such term of the loss."""
        for row in loss_rows(run):
            share = row.columns.get("weightless", np.empty(0))
            at = np.flatnonzero(np.nan_to_num(share) > 0)
            if len(at):
                yield self._found(row, share, at[0])

    def _found(self, row: LossRow, share: np.ndarray, first: int) -> Finding:
        step = int(row.steps[first])
        return self.note(
            f"step {step}: {number(100 * float(share[first]))} % of the labels belong "
            "to classes whose weight in the loss is 0",
            cause="A class that occurs has weight 0: it was excluded on purpose, or "
            "missing in the sample that the weights were computed from.",
            fix="Compute the weights from the whole training set; to exclude a class, "
            "set its labels to -100.",
            places={"config": "weight", "op": row.text("loss")},
            steps=(step, int(row.steps[-1])),
            evidence={"share": float(share[first]), "threshold": 0.0},
            healthy="a weight above 0 for each class that should be predicted",
        )
