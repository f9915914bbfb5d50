"""The rule DAT011, wrong-dtype.

## What it does
Finds the batch whose ids or labels are of a type that the model does not take, and at
which the run ended.

## Why is this bad?
The error names neither the field nor the sample: "expected scalar type Long but found
Int", or "Target size must be the same as input size" for classes that are floats.

## Evidence
The dtypes of `input_ids` and `labels` of every batch of a transformers model. Told only
where the step of that batch was never made, and no earlier step with such a dtype was.
Threshold: int64 (int32 for ids).
Measured: `torch.tensor(ids, dtype=torch.float32)` ends the run at its first lookup.
By hand: `{name: value.dtype for name, value in batch.items()}`.

## What to try
1. `.long()` in the collator.
2. `torch.tensor(labels)` of whole numbers: NumPy and pandas make floats of columns with
   gaps.

## Known problems
Float labels of a classifier are wrong only with one number for each row: several labels
at once are floats.

## References
- torch, `cross_entropy`: class indices are long
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.rules.reading.batches import NEEDS, refused_batches
from ftlab.rules.rule import Rule
from ftlab.runlog.run import Run


class WrongDtype(Rule):
    """Finds ids and labels of another type."""

    code = "DAT011"
    name = "wrong-dtype"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for the batch that ended the run."""
        for each in refused_batches(run, "dtype")[:1]:
            odd = each.odd
            yield self.finding(
                Severity.ERROR,
                f"{each.batch}: {odd.field} is {odd.value}, and the model takes "
                f"{odd.limit}",
                cause="The dataset or the collator has made other numbers of them.",
                fix=f"batch['{odd.field}'].long() in the collator.",
                places=[Place("data", odd.field)],
                steps=(each.step, each.step),
                evidence={
                    "field": odd.field,
                    "dtype": odd.value,
                    "micro_batch": odd.micro_batch,
                    "threshold": odd.limit,
                },
                healthy="int64",
            )
