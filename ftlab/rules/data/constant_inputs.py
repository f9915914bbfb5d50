"""The rule DAT006, constant-inputs.

## What it does
Finds runs whose pictures, sounds or other inputs are the same number everywhere.

## Why is this bad?
There is nothing to see in them. The loss still falls to what the labels alone allow, so
that nothing looks wrong before the evaluation.

## Evidence
The largest and the smallest value of each row of `pixel_values`, `input_features`,
`input_values` or `inputs_embeds`, or of the only floats in a batch. Told where they are
one and the same number in all rows of each of the first 4 micro-batches. A black
picture among others is fine, and so are batches without pictures between others.
Pictures and sounds beside `input_ids` are not judged: texts without any have empty
ones.
Measured: pictures that were scaled by 1/255 twice and cast to uint8 are 0 everywhere.
By hand: `batch["pixel_values"].std()`.

## What to try
1. Look at what the dataset gives, before and after the processor.
2. Scale once: `do_rescale=False` where the pictures are between 0 and 1 already.

## Known problems
A model whose inputs are constant on purpose at first (a warm-up on an empty prompt).

## References
- transformers, image processors warn of pictures that are scaled already
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.rules.reading.batches import NEEDS, odd_batches
from ftlab.rules.rule import Rule
from ftlab.runlog.run import Run

BATCHES = 4
"""First micro-batches that are constant; as many as the probe waits for."""


class ConstantInputs(Rule):
    """Finds inputs that are one number."""

    code = "DAT006"
    name = "constant-inputs"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for the field."""
        for each in odd_batches(run, "constant")[:1]:
            odd = each.odd
            yield self.finding(
                Severity.WARNING,
                f"{odd.field} is {float(odd.value):g} everywhere, in all samples of "
                f"the first {BATCHES} micro-batches",
                cause="The preparation has lost the data: scaled twice, cast to whole "
                "numbers, or never filled in.",
                fix="Look at one sample before and after the processor.",
                places=[Place("data", odd.field), Place("sample", "0")],
                steps=(0, each.step),
                evidence={
                    "field": odd.field,
                    "value": odd.value,
                    "threshold": BATCHES,
                },
                healthy="a deviation above 0",
            )
