"""The rule NUM018, smoothed-past-half.

## What it does
Finds losses in which label smoothing takes more than half of the target from the label.

## Why is this bad?
`label_smoothing` is the share that is spread over all classes, not the label's own.
With 0.9 the best that a model can do is to give the label a tenth, and the loss cannot
fall below 4.67 for 128 classes, where knowing nothing costs 4.85: the model stays
uncertain, and the loss looks as if nothing was learned.

## Evidence
The graph of the loss that backward is called on: a sum of two products with constants,
one of the label's entry of a log-softmax, the other of its sum or mean over the
classes, and the constants add up to 1 (within 0.001). A `cross_entropy` with
`label_smoothing` and the Trainer's `label_smoothing_factor` are built so. The share is
above 0.5; 0.1 is the value in the paper. The lowest loss with a share of s and C
classes is the entropy of the target: -q ln q - (C - 1) r ln r, with r = s / C, q = 1 -
s + r.
By hand: print `loss.grad_fn.next_functions[1][0]._saved_other`, which is s / C.

## What to try
1. `label_smoothing=0.1`, or 1 less what it is now.
2. Compare the loss with the lowest possible one, not with 0.

## Known problems
A loss with class weights beside the smoothing is not read, nor a target that is
smoothed before it is given to the loss. If most labels are wrong, this much can be
intended: silence the warning then.

## References
- Szegedy et al. 2016, Rethinking the Inception Architecture, section 7 (0.1)
- torch, `torch.nn.CrossEntropyLoss` ("0.0 means no smoothing")
- transformers, `trainer_pt_utils.py`, `LabelSmoother`
"""

import math
from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.rules.reading.asked import arguments
from ftlab.rules.reading.loss_rows import NEEDS, LossRow, loss_rows
from ftlab.rules.rule import Rule
from ftlab.rules.words import number
from ftlab.runlog.run import Run

HALF = 0.5
"""Share of the target that is spread over all classes, at most."""


class SmoothedPastHalf(Rule):
    """Finds labels that smoothing leaves less than half of the target."""

    code = "NUM018"
    name = "smoothed-past-half"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding, of the first such term."""
        for row in loss_rows(run):
            share = float(row.name.meta.get("smoothing", 0.0))
            if HALF < share <= 1 and row.classes > 1:
                trainer_s = bool(arguments(run).get("label_smoothing_factor"))
                option = f"label_smoothing{'_factor' if trainer_s else ''}"
                yield self._found(row, share, option)
                return

    def _found(self, row: LossRow, share: float, option: str) -> Finding:
        lowest, step = lowest_loss(share, row.classes), int(row.steps[0])
        chance = math.log(row.classes)
        return self.finding(
            Severity.WARNING,
            f"step {step}: label smoothing spreads {number(share)} of the target over "
            f"{row.classes} classes: the loss cannot fall below {number(lowest)}, and "
            f"guessing gives {number(chance)}",
            cause="The smoothing is the share spread over all classes; it seems to "
            "have been set to the label's own share.",
            fix=f"{option}={number(1 - share)}, or 0.1.",
            places=[Place("config", option), Place("op", "cross_entropy")],
            steps=(step, int(row.steps[-1])),
            evidence={
                "smoothing": share,
                "lowest_loss": lowest,
                "guessing": chance,
                "threshold": HALF,
            },
            healthy="smoothing of about 0.1: the label keeps most of the target",
        )


def lowest_loss(share: float, classes: int) -> float:
    """Return the lowest loss that is possible with label smoothing.

    Examples
    --------
    >>> from ftlab.rules.numeric.smoothed_past_half import lowest_loss
    >>> round(lowest_loss(0.1, 128), 2), round(lowest_loss(0.9, 128), 2)
    (0.8, 4.67)
    """
    rest = share / classes
    label = 1 - share + rest
    return -sum(n * p * math.log(p) for n, p in ((1, label), (classes - 1, rest)) if p)
