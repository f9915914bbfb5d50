"""The rule DAT003, labels-outside-classes.

## What it does
Finds the batch whose labels name no class of the model, and at which the run ended.

## Why is this bad?
The loss raises "Target 367 is out of bounds", or on CUDA a device-side assert (`t >= 0
&& t < n_classes`) that names neither the sample nor the label.

## Evidence
The largest and the smallest label of each row of every batch, -100 left out, read in
front of the forward: against the outputs of the head, or `num_labels` of a classifier.
Told only where the step of that batch was never made, and no earlier step with such
labels was: a loss may have an ignored value of its own. Threshold: the number of
classes.
Measured: labels padded with -1 end the run at the first padded batch.
By hand: `labels[labels != -100].min()`, `.max()`.

## What to try
1. -100 where a label shall not count: `DataCollatorForSeq2Seq`, `label_pad_token_id`.
2. Classes numbered from 0, and `num_labels` as many.
3. `model.resize_token_embeddings(len(tokenizer))` after tokens were added.

## Known problems
Known for transformers models whose labels are tokens or classes; of other models, and
of losses outside of the model, labels are not judged.

## References
- huggingface/trl#1802, huggingface/transformers#1848
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Severity
from ftlab.rules.reading.batches import NEEDS, refused_batches
from ftlab.rules.rule import Rule
from ftlab.rules.words import counted
from ftlab.runlog.run import Run


class LabelsOutsideClasses(Rule):
    """Finds labels that name no class."""

    code = "DAT003"
    name = "labels-outside-classes"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)
    caused_by = ("DAT002",)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for the batch that ended the run."""
        found = refused_batches(run, "labels")
        if not found:
            return
        first = found[0]
        odd, classes = first.odd, int(float(first.odd.limit))
        piece = f" ({odd.piece!r})" if odd.piece else ""
        yield self.finding(
            Severity.ERROR,
            f"{first.batch}: label {odd.position} of sample {first.sample} is "
            f"{odd.value}{piece}, and the model has {classes} classes; "
            f"{counted(odd.rows, 'sample')} of the batch like this",
            cause="Labels are padded or masked with another number than -100."
            if float(odd.value) < 0
            else "Labels are numbered beyond the classes: counted from 1, of another "
            "tokenizer, or of tokens that were added without a resize.",
            fix="-100 at labels that shall not count."
            if float(odd.value) < 0
            else "Number the labels from 0 to num_labels - 1, or resize the "
            "embeddings to len(tokenizer).",
            places=first.places,
            steps=(first.step, first.step),
            evidence={
                "label": odd.value,
                "token": odd.piece,
                "sample": odd.row,
                "position": odd.position,
                "micro_batch": odd.micro_batch,
                "samples": odd.rows,
                "threshold": classes,
            },
            healthy="-100, or 0 to the number of classes less one",
        )
