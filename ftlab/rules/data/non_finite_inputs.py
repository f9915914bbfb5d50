"""The rule DAT005, non-finite-inputs.

## What it does
Finds batches whose inputs hold NaN or infinity before the model has touched them.

## Why is this bad?
Whatever the model computes of them is NaN, the loss and every gradient too. One such
sample in a data set ends the run at a step that depends on the seed.

## Evidence
The largest and the smallest value of each row of every field of floats (pictures,
sound, embeddings, labels of a regression), read in front of the forward. Told where the
first step without a finite loss or gradient is one with such a row, or was never made.
Threshold: finite. Fields named as masks, biases or weights may be infinite and are not
looked at.
Measured: one NaN in `pixel_values` makes the loss of its step NaN.
By hand: `torch.isfinite(batch["pixel_values"]).flatten(1).all(1)`.

## What to try
1. Leave the sample out, or mend it: division by a deviation of 0, an empty recording.
2. An assertion in the dataset's `__getitem__`.

## Known problems
Series with gaps marked by NaN are right where the model masks them; then the loss is
finite and nothing is said.

## References
- torch, `torch.isfinite`
- transformers, feature extractors: `(x - mean) / sqrt(var + 1e-7)`
"""

from collections.abc import Iterator

import numpy as np

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.rules.reading.batches import NEEDS, failed_steps, odd_batches
from ftlab.rules.rule import Rule
from ftlab.rules.words import counted
from ftlab.runlog.run import Run


class NonFiniteInputs(Rule):
    """Finds inputs that are NaN or infinite."""

    code = "DAT005"
    name = "non-finite-inputs"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for the first such sample."""
        found = failed_steps(run, odd_batches(run, "non-finite"))
        table = run.whole.steps
        sick = table.known("loss") & ~np.isfinite(table["loss"])
        earlier = bool(found) and bool((table.step[sick] < found[0].step).any())
        if not found or earlier:
            return
        first = found[0]
        odd = first.odd
        where = f"token {odd.position} of " if odd.position >= 0 else ""
        yield self.finding(
            Severity.ERROR,
            f"{first.batch}: {odd.field} is {odd.value} in {where}sample "
            f"{first.sample}; {counted(odd.rows, 'sample')} of the batch like this",
            cause="The data holds it, or its preparation divides by 0.",
            fix="Mend the sample or leave it out.",
            places=[*first.places, Place("step", str(first.step))],
            steps=(first.step, found[-1].step),
            evidence={
                "field": odd.field,
                "value": odd.value,
                "sample": odd.row,
                "position": odd.position,
                "micro_batch": odd.micro_batch,
                "samples": odd.rows,
                "threshold": "finite",
            },
            healthy="finite numbers",
        )
