"""The rule DAT005, inputs-unfit.

## What it does
Finds pictures, sounds and other inputs of floats that hold NaN or infinity before the
model has touched them, that are one number everywhere, or that are in the units of
their files.

## Why is this bad?
Whatever the model computes of NaN is NaN, the loss and every gradient too. In one
number there is nothing to see, and the loss still falls to what the labels alone allow.
Numbers ten thousand times as large as a model was trained on saturate its first layers.

## Evidence
The largest and the smallest value of each row of every field of floats, read in front
of the forward. *non-finite*: told where the first step without a finite loss or
gradient is one with such a row, or was never made; fields named as masks, biases or
weights may be infinite. *constant*: of `pixel_values`, `input_features`, `input_values`
or `inputs_embeds`, or of the only floats in a batch, one and the same number in all
rows of each of the first 4 micro-batches; a black picture among others is fine, and
pictures beside `input_ids` are not judged. *off-scale*: a range above 10,000 in such a
field of a transformers model; processors give ranges below 100, plain pictures 255,
16-bit sound and depth 65,535.
Measured: one NaN in `pixel_values` makes the loss of its step NaN; pictures that were
scaled by 1/255 twice and cast to uint8 are 0 everywhere; 16-bit samples as floats have
a range of 60,000, and after division by 32,768 one of 1.8.
By hand: `torch.isfinite(batch["pixel_values"]).all()`, `.std()`, `.min()`, `.max()`.

## What to try
1. Leave the sample out, or mend it: division by a deviation of 0, an empty recording.
2. Look at what the dataset gives, before and after the processor, and scale once:
   `do_rescale=False` where pictures are between 0 and 1 already.
3. The model's own processor or feature extractor.

## Known problems
Series with gaps marked by NaN are right where the model masks them; then the loss is
finite and nothing is said. Inputs may be constant on purpose at first. Pictures of 0 to
255 are below the threshold.

## References
- torch, `torch.isfinite`
- transformers, image processors warn of pictures that are scaled already
- transformers, `Wav2Vec2FeatureExtractor(do_normalize=True)`
"""

import numpy as np

from ftlab.rules.reading.batches import NEEDS, OddBatch, failed_steps, odd_batches
from ftlab.rules.rule import Finding, Place, Results, Rule, Run
from ftlab.rules.words import counted, number

BATCHES = 4
"""First micro-batches that are constant; as many as the probe waits for."""


class InputsUnfit(Rule):
    """Finds inputs from which nothing can be learnt."""

    code = "DAT005"
    requires = NEEDS

    def check(self, run: Run) -> Results:
        """Yield one finding for each way, at the first such sample or field."""
        bad = failed_steps(run, odd_batches(run, "non-finite"))
        if bad and not _is_lost_before(run, bad[0].step):
            yield self._non_finite(bad)
        for each in odd_batches(run, "constant")[:1]:
            yield self._constant(each)
        if wide := odd_batches(run, "off-scale"):
            yield self._off_scale(wide)

    def _non_finite(self, found: list[OddBatch]) -> Finding:
        first, odd = found[0], found[0].odd
        where = f"token {odd.position} of " if odd.position >= 0 else ""
        return self.error(
            f"{first.batch}: {odd.field} is {odd.value} in {where}sample "
            f"{first.sample}; {counted(odd.rows, 'sample')} of the batch like this",
            cause="The data holds it, or its preparation divides by 0.",
            fix="Mend the sample or leave it out.",
            places=[*first.places, Place("step", str(first.step))],
            steps=(first.step, found[-1].step),
            evidence=_told(first, "finite"),
            healthy="finite numbers",
        )

    def _constant(self, each: OddBatch) -> Finding:
        odd = each.odd
        return self.warning(
            f"{odd.field} is {float(odd.value):g} everywhere, in all samples of the "
            f"first {BATCHES} micro-batches",
            cause="The preparation has lost the data: scaled twice, cast to whole "
            "numbers, or never filled in.",
            fix="Look at one sample before and after the processor.",
            places={"data": odd.field, "sample": "0"},
            steps=(0, each.step),
            evidence=_told(each, BATCHES),
            healthy="a deviation above 0",
        )

    def _off_scale(self, found: list[OddBatch]) -> Finding:
        first, odd = found[0], found[0].odd
        return self.warning(
            f"{first.batch}: {odd.field} has a range of {number(float(odd.value))} in "
            f"sample {first.sample}; {counted(odd.rows, 'sample')} of the batch above "
            f"{number(float(odd.limit))}",
            cause="The inputs were not scaled as the model's processor does.",
            fix="Prepare them with the model's own processor.",
            places=first.places,
            steps=(first.step, found[-1].step),
            evidence=_told(first, odd.limit),
            healthy="a range below 100",
        )


def _told(each: OddBatch, threshold: float | int | str) -> dict[str, float | int | str]:
    odd = each.odd
    return {
        "reason": odd.kind,
        "field": odd.field,
        "value": odd.value,
        "sample": odd.row,
        "position": odd.position,
        "micro_batch": odd.micro_batch,
        "samples": odd.rows,
        "threshold": threshold,
    }


def _is_lost_before(run: Run, step: int) -> bool:
    """Tell whether the loss was no number before."""
    table = run.whole.steps
    sick = table.known("loss") & ~np.isfinite(table["loss"])
    return bool((table.step[sick] < step).any())
