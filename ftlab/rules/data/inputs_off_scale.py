"""The rule DAT012, inputs-off-scale.

## What it does
Finds pictures and sounds that were handed to the model in the units of their files.

## Why is this bad?
A model was trained on inputs around 0 with a deviation near 1. Numbers ten thousand
times as large saturate its first layers: the loss stays high, or leaves for infinity.

## Evidence
The range of each row of `pixel_values`, `input_features` or `input_values` of a
transformers model. Threshold: 10,000. Processors give ranges below 100 and plain
pictures 255; 16-bit sound and depth reach 65,535.
Measured: 16-bit samples as floats have a range of 60,000, and after division by 32,768
one of 1.8.
By hand: `batch["input_values"].min()`, `.max()`.

## What to try
1. The model's own processor or feature extractor.
2. Sound divided by 32,768, pictures by 65,535 or 255.

## Known problems
Pictures of 0 to 255 are below the threshold.

## References
- transformers, `Wav2Vec2FeatureExtractor(do_normalize=True)`
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Severity
from ftlab.rules.reading.batches import NEEDS, odd_batches
from ftlab.rules.rule import Rule
from ftlab.rules.words import counted, number
from ftlab.runlog.run import Run


class InputsOffScale(Rule):
    """Finds inputs in the units of their files."""

    code = "DAT012"
    name = "inputs-off-scale"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for the first such batch."""
        found = odd_batches(run, "off-scale")
        if not found:
            return
        first, odd = found[0], found[0].odd
        yield self.finding(
            Severity.WARNING,
            f"{first.batch}: {odd.field} has a range of {number(float(odd.value))} in "
            f"sample {first.sample}; {counted(odd.rows, 'sample')} of the batch above "
            f"{number(float(odd.limit))}",
            cause="The inputs were not scaled as the model's processor does.",
            fix="Prepare them with the model's own processor.",
            places=first.places,
            steps=(first.step, found[-1].step),
            evidence={
                "field": odd.field,
                "range": odd.value,
                "sample": odd.row,
                "samples": odd.rows,
                "threshold": odd.limit,
            },
            healthy="a range below 100",
        )
