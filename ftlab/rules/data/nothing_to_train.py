"""The rule DAT004, nothing-to-train.

## What it does
Finds batches of which no label counts, where the loss is NaN, or 0, because of that.

## Why is this bad?
The mean over no label is 0 / 0. One such batch makes the loss NaN, and with some losses
every weight after it; where all batches are like that, nothing is learnt at all.

## Evidence
How many labels of each row are not -100, of every micro-batch. Told where none is in a
whole micro-batch, the loss of that step is NaN, or exactly 0 where no micro-batch of
the run has labels, and no step before it was so with labels. One row without labels
among others is fine, and so is a micro-batch without any whose update is divided by the
labels of all: that loss is finite. Rows that nobody trains on yet have no loss, and are
warned. Threshold: 1 label. Measured: a template without `{% generation %}` marks no
answer, and the first loss is NaN.
By hand: `(batch["labels"] != -100).sum(1)`.

## What to try
1. `ftlab.tokens(trainer)`: where the labels should begin.
2. A template with `{% generation %}`, a marker that is found as it is tokenised, or
   prompt and completion columns.
3. A longer `max_length`, or without the rows whose prompt alone fills it.

## Known problems
Labels that the model is not given, because the loss is computed outside, are not seen.

## References
- huggingface/transformers#30650 (a mask of zeros), huggingface/trl#588, #980
"""

import numpy as np

from ftlab.rules.reading.batches import NEEDS, OddBatch, odd_batches
from ftlab.rules.reading.samples import row_name
from ftlab.rules.rule import Finding, Place, Results, Rule, Run
from ftlab.rules.words import counted

_HEALTHY, _LABELS = "a label that counts in every batch", Place("data", "labels")


class NothingToTrain(Rule):
    """Finds batches without a label that counts."""

    code = "DAT004"
    requires = NEEDS

    def check(self, run: Run) -> Results:
        """Yield one finding for all batches that spoil a loss."""
        table = run.whole.steps
        if not run.facts.model and not len(table):
            yield from map(self._foreseen, odd_batches(run, "ignored")[:1])
            return
        loss, (without, batches) = table["loss"], _unlabelled(run)
        spoilt = ~np.isfinite(loss) | ((loss == 0) & (without >= batches))
        steps = table.step[table.known("loss") & spoilt]
        found = odd_batches(run, "ignored")
        empty = [each for each in found if each.step in set(steps.tolist())]
        if empty and empty[0].step == int(steps[0]):
            yield self._finding(run, empty)

    def _foreseen(self, empty: OddBatch) -> Finding:
        """Tell of a batch that nobody has trained on yet."""
        rows, first = empty.odd.rows, empty.step
        return self.warning(
            f"{empty.batch}: no label of its {counted(rows, 'sample')} counts: the "
            "mean over them is no number",
            cause="No answer is found in any sample: the template marks none, the "
            "marker is never met, or the prompts fill the rows.",
            fix="Mark the answers by the template, use prompt and completion columns, "
            "or raise max_length.",
            places=[*_samples(empty), _LABELS],
            steps=(first, first),
            evidence={"samples": rows, "threshold": 1},
            healthy=_HEALTHY,
        )

    def _finding(self, run: Run, empty: list[OddBatch]) -> Finding:
        (without, batches), first = _unlabelled(run), empty[0]
        everywhere = without >= batches
        table = run.whole.steps
        loss = float(table["loss"][table.step == first.step][0])
        return self.error(
            f"{first.batch}: no label of its {counted(first.odd.rows, 'sample')} "
            f"counts, and the loss is {'NaN' if np.isnan(loss) else loss}; so are "
            f"{without} of {counted(batches, 'micro-batch', 'micro-batches')}",
            cause="No answer is found in any sample: the template marks none, or the "
            "marker is never met."
            if everywhere
            else "The prompts of these samples fill the row, and their answers were "
            "cut off.",
            fix="Look at ftlab.tokens(...): mark the answers by the template, or use "
            "prompt and completion columns."
            if everywhere
            else "Leave these rows out, shorten their prompts, or raise max_length.",
            places=[*_samples(first), Place("step", str(first.step)), _LABELS],
            steps=(first.step, empty[-1].step),
            evidence={
                "batches": without,
                "of": batches,
                "samples": first.odd.rows,
                "micro_batch": first.odd.micro_batch,
                "threshold": 1,
            },
            healthy=_HEALTHY,
        )


def _samples(empty: OddBatch) -> list[Place]:
    """Name the first rows of a batch."""
    rows = range(min(empty.odd.rows, 16))
    return [Place("sample", row_name(empty.odd.micro_batch, row)) for row in rows]


def _unlabelled(run: Run) -> tuple[int, int]:
    """Count the micro-batches without a label, and all of them."""
    table = run.whole.steps
    known = "unlabelled" in table.columns
    without = int(np.nansum(table["unlabelled"])) if known else 0
    return without, int(np.nansum(table["micro_batches"]))
