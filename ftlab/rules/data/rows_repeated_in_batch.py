"""The rule DAT029, rows-repeated-in-batch.

## What it does
Finds batches that hold the same rows several times.

## Why is this bad?
A batch of 8 copies is a batch of 1: the gradient is that of one row, at the cost and
with the learning rate of eight, and most of the data is never seen.

## Evidence
Rows of the batches, 16 of a looked-at step at most, each compared with the others of
its micro-batch: ids and labels, without padding. A warning where in all of 3 batches at
least, of 4 rows and more each, fewer than half of the rows are different, while the
batches are not all the same; else a note, where a quarter of all rows are copies: a few
come of small datasets.
Half of the rows being copies is left alone: R-Drop and SimCSE use each row twice. One
batch that comes again and again is overfitted on purpose.
By hand: `len(batch["input_ids"].unique(dim=0))`.

## What to try
1. Look at the collator: a comprehension that uses `features[0]` for all, `expand` or
   `repeat` in place of `stack`.
2. Look at the sampler: with replacement over few rows, or a dataset whose
   `__getitem__` forgets its index.

## Known problems
Rows are compared within a micro-batch alone: a sampler that repeats rows further apart
is not seen. Batches without labels are not compared.

## References
- torch documentation, `RandomSampler(replacement=True)`
- Wu et al., R-Drop, arXiv 2106.14448 (each row twice on purpose)
"""

from collections.abc import Iterator, Sequence

from ftlab.records.copied_rows import CopiedRows
from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.rules.reading.samples import NEEDS, samples_of
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

BATCHES, ROWS = 3, 4
"""Batches that are all so, and the rows of each."""

SHARE, NOTED = 0.5, 0.25
"""Share of different rows from which on nothing is a warning; of copies, for a note."""

Told = tuple[int, CopiedRows]


class RowsRepeatedInBatch(Rule):
    """Finds batches that hold the same rows several times."""

    code = "DAT029"
    name = "rows-repeated-in-batch"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all batches."""
        looked = samples_of(run).copied
        twice = [(step, each) for step, each in looked if each.again >= 0]
        rows = sum(each.rows for _, each in looked)
        copies = rows - sum(each.different for _, each in looked)
        if twice and copies >= NOTED * rows and not _all_twice(looked):
            yield self._finding(twice, looked)

    def _finding(self, twice: Sequence[Told], looked: Sequence[Told]) -> Finding:
        steps = [step for step, _ in twice]
        first = twice[0][1]
        micro = f" of micro-batch {first.micro_batch}" if first.micro_batch else ""
        return self.finding(
            Severity.WARNING if _all_repeated(looked) else Severity.INFO,
            f"{at_steps(min(steps), max(steps))}: {len(twice)} of {len(looked)} "
            f"batches hold rows more than once; in the first, row {first.again} is row "
            f"{first.first} again, and {first.different} of {first.rows} are different",
            cause="The collator fills the batch with one row, or the sampler gives the "
            "same row several times.",
            fix="Let each row of a batch come from a row of its own: look at the "
            "collator, then at the sampler and the dataset's __getitem__.",
            places=[
                Place("sample", f"{first.again}{micro}"),
                Place("sample", f"{first.first}{micro}"),
            ],
            steps=(min(steps), max(steps)),
            evidence={
                "batches": len(twice),
                "of": len(looked),
                "rows": first.rows,
                "different": first.different,
                "threshold": SHARE,
            },
            healthy="rows that are different within each batch",
        )


def _all_twice(looked: Sequence[Told]) -> bool:
    """Tell whether each row is there twice in all batches, as R-Drop has it."""
    return all(e.rows >= ROWS and 2 * e.different == e.rows for _, e in looked)


def _all_repeated(looked: Sequence[Told]) -> bool:
    """Tell whether rows are copies in all batches, and these are not one batch."""
    contents = {each.content for _, each in looked}
    if len(contents) < BATCHES:
        return False
    return all(
        each.rows >= ROWS and each.different < SHARE * each.rows for _, each in looked
    )
