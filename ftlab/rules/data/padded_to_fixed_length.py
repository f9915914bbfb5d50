"""The rule DAT047, padded-to-fixed-length.

## What it does
Finds batches that are all padded to one length which no row comes near.

## Why is this bad?
The model computes all positions: where rows fill half of them, the step takes twice the
time and the memory of what it could. Nothing is learnt wrongly, so it is a note.

## Evidence
Width of each batch, lengths of the samples that were looked at, and the padding of all
steps. Told where all batches have one width, 3 steps at least, the longest sample fills
at most half of it, and half of all positions are padding.
Measured: chats of 33 tokens and fewer, padded to 256, are 89 % padding; padded to the
longest of each batch, 13 %.
By hand: `batch["attention_mask"].float().mean()`.

## What to try
1. `padding=True` (the longest of a batch) in place of `padding="max_length"`.
2. `pad_to_multiple_of=64`, where shapes have to repeat.
3. Packing.

## Known problems
One shape for all batches may be meant, for a compiled graph or a device that wants it.
Of a batch with more than 16 rows the first are looked at.

## References
- transformers, `PreTrainedTokenizerBase.pad` (`padding="max_length"`)
- huggingface/transformers, `DataCollatorWithPadding`
"""

import numpy as np

from ftlab.rules.reading.samples import NEEDS, samples_of, steps_of, token_places
from ftlab.rules.rule import Results, Rule, Run, needs_step_values
from ftlab.rules.words import at_steps

STEPS = 3
"""Steps of one width: two batches may be alike by chance."""

FILLED = 0.5
"""Share of the width that the longest sample fills at most, and of padding at least."""


class PaddedToFixedLength(Rule):
    """Finds batches padded to a length that no row comes near."""

    code = "DAT047"
    requires = (
        NEEDS,
        needs_step_values("padding", "the padding of each step", "a watch of batches"),
    )

    def check(self, run: Run) -> Results:
        """Yield one finding over all steps."""
        sights = samples_of(run).sights
        known = [each for each in sights if each.sample.exact and each.sample.length]
        widths = {each.sample.width for each in known}
        longest = max((each.sample.length for each in known), default=0)
        padding = float(np.nansum(run.steps["padding"]))
        positions = padding + float(np.nansum(run.steps["tokens"]))
        lengths = np.asarray(run.steps["sequence"])
        seen = lengths[np.isfinite(lengths)]
        if len(widths) != 1 or len(seen) < STEPS or len(set(seen.tolist())) != 1:
            return
        (width,) = widths
        share = padding / max(positions, 1.0)
        if longest > FILLED * width or share < FILLED:
            return
        chosen = max(known, key=lambda each: each.sample.length)
        steps = steps_of(known)
        yield self.note(
            f"{at_steps(*steps)}: {share:.0%} of all positions are padding: each batch "
            f"is {width} wide, the longest row {longest}",
            cause="Rows are padded to one length, not to the longest of their batch.",
            fix="Pad to the longest row of each batch, or pack.",
            places=token_places([chosen], lambda sample: sample.end - 1),
            steps=steps,
            evidence={
                "share": share,
                "threshold": FILLED,
                "width": width,
                "length": longest,
                "sample": chosen.sample.row,
            },
            healthy="batches as wide as their longest row",
        )
