"""The rule DAT010, shapes-disagree.

## What it does
Finds the batch whose labels or mask have another shape than its ids, and at which the
run ended.

## Why is this bad?
The error comes from deep within the model ("Expected input batch_size (28) to match
target batch_size (32)") and speaks of flattened tensors.

## Evidence
The shapes of `input_ids`, `labels` and `attention_mask` of every batch of a
transformers model. Told only where the step of that batch was never made, and no
earlier step with such shapes was. Threshold: equal.
Measured: labels that were cut to 7 of 8 tokens end the run at the first step.
By hand: `{name: tuple(value.shape) for name, value in batch.items()}`.

## What to try
1. A collator that pads labels too: `DataCollatorForSeq2Seq`, TRL's.
2. Labels of all tokens: the model shifts them itself.

## Known problems
Only the first and last dimensions of ids, labels and masks are compared.

## References
- transformers, `DataCollatorWithPadding` does not pad labels
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.rules.reading.batches import NEEDS, refused_batches
from ftlab.rules.rule import Rule
from ftlab.runlog.run import Run


class ShapesDisagree(Rule):
    """Finds labels and masks that do not go with the ids."""

    code = "DAT010"
    name = "shapes-disagree"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for the batch that ended the run."""
        for each in refused_batches(run, "shape")[:1]:
            odd = each.odd
            yield self.finding(
                Severity.ERROR,
                f"{each.batch}: {odd.field} has the shape {odd.value}, and goes with "
                f"input_ids only as {odd.limit}",
                cause="The collator pads or cuts one field and not the other.",
                fix="Pad ids and labels together: DataCollatorForSeq2Seq(tokenizer).",
                places=[Place("data", odd.field)],
                steps=(each.step, each.step),
                evidence={
                    "field": odd.field,
                    "shape": odd.value,
                    "micro_batch": odd.micro_batch,
                    "threshold": odd.limit,
                },
                healthy="one label and one mask value for each id",
            )
