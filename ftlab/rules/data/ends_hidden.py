"""The rule DAT053, ends-hidden.

## What it does
Finds attention masks that hide the ends of turns in the middle of a text.

## Why is this bad?
A mask that is made by `ids != pad_token_id` hides every end, where the padding is EOS.
What follows is trained as if no turn had ended before it; whoever generates attends to
these ends, and the model meets them for the first time. Positions that are made of such
a mask stand still at each of them.

## Evidence
Samples of the batches, 2 at least: a token that ends a text (EOS, or one at which a
generation stops) is hidden, and both of its neighbours are seen. There is no other
threshold: padding between documents comes in their place or behind them, in runs, and a
mask by length hides nothing within.
Measured: the mask `ids != eos` over conversations of two turns hides the first end of
each of 16 rows; by length, none.
By hand: `attention_mask[i][:lengths[i]]` holds a 0.

## What to try
1. The mask that the tokenizer returns, padded with 0: `tokenizer.pad(rows)`.
2. By length: `torch.arange(width) < lengths[:, None]`.
3. A padding token of its own.

## Known problems
One padding token alone between two documents of a packed row, where PAD is EOS, looks
the same; it is hidden rightly, if it is no end.

## References
- transformers documentation, "Padding and truncation", `attention_mask`
- locuslab/open-unlearning#128 (a mask made of ids hides each end of a turn)
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, Severity
from ftlab.rules.reading.samples import (
    NEEDS,
    Samples,
    Sight,
    samples_of,
    steps_of,
    token_places,
)
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps, counted
from ftlab.runlog.run import Run

SAMPLES = 2
"""Samples in which an end is hidden."""


class EndsHidden(Rule):
    """Finds ends within a text that nobody may see."""

    code = "DAT053"
    name = "ends-hidden"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def check(self, run: Run) -> Iterator[Finding]:
        """Yield one finding for all samples."""
        samples = samples_of(run)
        sick = [
            each
            for each in samples.sights
            if any(token.id in samples.stops for token in each.sample.hidden)
        ]
        if len(sick) >= SAMPLES:
            yield self._finding(samples, sick)

    def _finding(self, samples: Samples, sick: list[Sight]) -> Finding:
        steps, first = steps_of(sick), sick[0].sample
        count = sum(len(each.sample.hidden) for each in sick)
        piece = samples.piece(first.hidden[0].id)
        return self.finding(
            Severity.WARNING,
            f"{at_steps(*steps)}: the attention mask hides {piece} in the middle of "
            f"{counted(len(sick), 'sample')}, {counted(count, 'time')}",
            cause="The mask was made of the ids (ids != pad_token_id), and the padding "
            "is a token that ends texts as well.",
            fix="The tokenizer's own mask, padded with 0 (tokenizer.pad), or one by "
            "length: arange(width) < lengths[:, None].",
            places=token_places(sick, lambda each: each.hidden[0].position),
            steps=steps,
            evidence={
                "samples": len(sick),
                "tokens": count,
                "threshold": SAMPLES,
                "token": piece,
                "sample": first.row,
                "position": first.hidden[0].position,
            },
            healthy="a mask of 1 from the first token of a text to its last",
        )
