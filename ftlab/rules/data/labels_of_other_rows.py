"""The rule DAT043, labels-of-other-rows.

## What it does
Finds batches whose labels are the tokens of other rows of the same batch.

## Why is this bad?
Each answer is trained behind the question of somebody else. The loss falls all the
same, as far as the language of the answers goes, and what they say has nothing to do
with what was asked.

## Evidence
Samples of the batches: fewer than half of the labels that count are the tokens at
their own positions, and all of them, 4 at least, are those of one other row. At least 2
samples are so. Each of the two numbers keeps chance away: that four tokens of
text agree by chance is rare, and in all labels of two rows it was never seen in the
gallery's healthy runs, of which `random-labels`, `masked-words` and targets that are
shifted by hand come close.
By hand: `(labels[i] == input_ids[j])[labels[i] != -100].all()` for some `j != i`.

## What to try
1. Make ids and labels in one go, from one order of the rows; sort before, not between.
2. `ftlab.tokens(batch=batch, tokenizer=tokenizer)` shows both beside each other.

## Known problems
Labels of rows of another batch, and rows of an encoder-decoder, whose labels are texts
of their own, are not compared.

## References
- torch documentation, `pack_padded_sequence`: rows sorted by length have to be put back
- cleanlab, "label errors": the loss does not show labels of other rows
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, Severity
from ftlab.records.sample_facts import SampleFacts
from ftlab.rules.reading.samples import (
    NEEDS,
    Sight,
    samples_of,
    steps_of,
    token_places,
)
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

SAMPLES = 2
"""Samples with labels of another row."""


class LabelsOfOtherRows(Rule):
    """Finds labels that have come to the wrong row."""

    code = "DAT043"
    name = "labels-of-other-rows"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def check(self, run: Run) -> Iterator[Finding]:
        """Yield one finding for all samples."""
        sights = samples_of(run).sights
        sick = [each for each in sights if each.sample.labels_of >= 0]
        if len(sick) >= SAMPLES:
            yield self._finding(sick, len(sights))

    def _finding(self, sick: list[Sight], seen: int) -> Finding:
        steps, first = steps_of(sick), sick[0].sample
        return self.finding(
            Severity.ERROR,
            f"{at_steps(*steps)}: the labels of {len(sick)} of {seen} samples are the "
            f"tokens of other rows; row {first.row} has those of row {first.labels_of}",
            cause="Ids and labels were put into a batch in two orders: one of them was "
            "sorted or shuffled alone.",
            fix="Make labels of the ids that are in the batch: labels = "
            "input_ids.clone(), then -100 where nothing is to be learnt.",
            places=token_places(sick, _first_label),
            steps=steps,
            evidence={
                "samples": len(sick),
                "of": seen,
                "threshold": SAMPLES,
                "row": first.row,
                "labels of": first.labels_of,
            },
            healthy="labels that are the tokens of their own row",
        )


def _first_label(sample: SampleFacts) -> int:
    """Return where its first label is, or where its padding begins."""
    return sample.stretches[0].start if sample.stretches else sample.end
