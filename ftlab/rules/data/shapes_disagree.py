"""The rule DAT010, shapes-disagree.

## What it does
Finds the batch whose labels or mask have another shape than its ids, and at which the
run ended, and batches whose ids are not in rows.

## Why is this bad?
The error comes from deep within the model ("Expected input batch_size (28) to match
target batch_size (32)") and speaks of flattened tensors. Ids with a dimension too many
may raise nothing: blocks take it for that of the tokens, no token sees another one, and
the loss falls as far as single words go.

## Evidence
The shapes of `input_ids`, `labels` and `attention_mask` of every batch of a
transformers model. Told only where the step of that batch was never made, and no
earlier step with such shapes was. Threshold: equal. Of ids that are in no rows, and
that the model takes, the shape in which they reach the first block: other than samples,
tokens and features is an error; some models (GPT-2, OPT) make rows of them.
Measured: labels that were cut to 7 of 8 tokens end the run at the first step; with
ids of (4, 1, 10) a Llama of transformers 5.23 trains, and reads (4, 1, 10, 64).
By hand: `{name: tuple(value.shape) for name, value in batch.items()}`.

## What to try
1. A collator that pads labels too: `DataCollatorForSeq2Seq`, TRL's.
2. Labels of all tokens: the model shifts them itself.
3. `tokenizer(text)` without `return_tensors` in `map`: it makes a batch of one.

## Known problems
Only the first and last dimensions of ids, labels and masks are compared. Of ids, one
dimension, or further ones of size 1, are told; several choices of a sample are not.

## References
- transformers, `DataCollatorWithPadding` does not pad labels
- transformers documentation, `PreTrainedTokenizerBase.__call__`, `return_tensors`
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.rules.reading.batches import NEEDS, OddBatch, odd_batches, refused_batches
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
        for each in (refused_batches(run, "shape") or _misread(run))[:1]:
            odd = each.odd
            ids = odd.field == "input_ids"
            yield self.finding(
                Severity.ERROR,
                f"{each.batch}: input_ids has the shape {odd.value}; the model reads "
                f"samples of tokens, {odd.limit}"
                if ids
                else f"{each.batch}: {odd.field} has the shape {odd.value}, and goes "
                f"with input_ids only as {odd.limit}",
                cause='Each text was tokenised with return_tensors="pt", which makes '
                "a batch of one, and these were stacked; or one row was handed over "
                "alone."
                if ids
                else "The collator pads or cuts one field and not the other.",
                fix="Tokenise without return_tensors, and let the collator make the "
                "tensors; or batch = {k: v.squeeze(1) for k, v in batch.items()}."
                if ids
                else "Pad ids and labels together: DataCollatorForSeq2Seq(tokenizer).",
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


def _misread(run: Run) -> list[OddBatch]:
    """Return ids that the model has read, and took samples for tokens in doing so."""
    taken = (e.detail.get("hidden") for e in run.whole.events if e.kind == "attention")
    odd = odd_batches(run, "shape") if any(taken) else []
    return [each for each in odd if each.odd.field == "input_ids"]
