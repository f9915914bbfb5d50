"""The rule DAT007, mask-inverted.

## What it does
Finds batches whose attention mask hides the text and shows the padding.

## Why is this bad?
The model reads nothing but padding. It learns which words are frequent, and the loss
ends where that leads: well above that of a model that reads.

## Evidence
Samples of the batches, where the mask alone says which tokens belong to them: the first
and the last eight tokens of at least 2 of them are all PAD, and there are labels to be
learnt there or at the hidden text. Threshold: 2 samples with unlike padding. Rows of
padding that fill up a batch have no labels.
Measured: `attention_mask = input_ids == pad` shows 0 of 57 tokens of text.
By hand: `tokenizer.decode(input_ids[0][attention_mask[0] == 1])`.

## What to try
1. The mask that the tokenizer returns, or `(input_ids != pad).long()`.
2. `~mask` where a mask of torch's (`key_padding_mask`, True is hidden) is handed to a
   model of transformers (1 is seen).

## Known problems
Needs rows that are padded, and a PAD that is known.

## References
- torch, `MultiheadAttention`: `key_padding_mask`; transformers, `attention_mask`
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Severity
from ftlab.records.sample_facts import SampleFacts
from ftlab.rules.reading.samples import (
    NEEDS,
    Samples,
    samples_of,
    steps_of,
    token_places,
)
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

SAMPLES = 2
"""Samples of which nothing but padding is seen, and labels that count beside them."""


class MaskInverted(Rule):
    """Finds masks that show the padding."""

    code = "DAT007"
    name = "mask-inverted"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all samples."""
        samples = samples_of(run)
        sick = [e for e in samples.sights if _is_inverted(e.sample, samples)]
        if len(sick) < SAMPLES:
            return
        steps, first = steps_of(sick), sick[0].sample
        yield self.finding(
            Severity.ERROR,
            f"{at_steps(*steps)}: the attention mask shows nothing but "
            f"{samples.piece(first.head[0])} of {len(sick)} samples, and hides their "
            "text",
            cause="The mask is 1 at the padding and 0 at the text.",
            fix="attention_mask = (input_ids != pad_token_id).long().",
            places=token_places(sick, lambda sample: sample.start),
            steps=steps,
            evidence={
                "samples": len(sick),
                "sample": first.row,
                "position": first.start,
                "threshold": SAMPLES,
            },
            healthy="1 at the text, 0 at the padding",
        )


def _is_inverted(sample: SampleFacts, samples: Samples) -> bool:
    pads = samples.ids("pad")
    seen = {*sample.head, *sample.tail}
    if not (sample.exact and seen and seen <= pads):
        return False
    plain = not pads & samples.stops
    return sample.padding_trained >= SAMPLES or (plain and sample.trained > 0)
