"""The rule NUM027, mean-over-masked.

## What it does
Finds losses that are the mean over all positions, including those that a mask has set
to 0.

## Why is this bad?
The loss and its gradient are smaller than the mean over the positions that count, by
the share that counts: with completions of 6 % of the tokens 16 times. Under SGD that is
a rate 16 times smaller, under clipping a limit that is never reached; the value looks
like that of a model that has learned everything. Where batches are padded to their
longest row, a token weighs less in a batch with a long one.

## Evidence
Read from the graph in steps 0 to 7 and in each 16th: the loss is a mean of losses of
tokens (a cross entropy without reduction, or log-probabilities), which were multiplied
by a tensor of the same size that is 0 or 1 everywhere, or some of which a cross entropy
passed over (`ignore_index`). Reported where at least a tenth of the positions does not
count, in 3 backwards and in all that were checked.
It is *info*: with Adam a constant share has next to no effect, a rate may have been
chosen for it, and a mean over a fixed number of positions gives each token the same
weight in all batches, as some published code intends. It depends on whether the rate
was chosen for a loss that divides by `mask.sum()`.
Measured with 3 of 47 positions: share 0.0638, loss 0.31 where the mean over the
completions is 4.85.
By hand: `loss / ((token_loss * mask).sum() / mask.sum())` is 1.

## What to try
1. `(token_loss * mask).sum() / mask.sum()`.
2. With `ignore_index`, leave the reduction at "mean": it divides by what counts.
3. To weigh tokens alike over batches of different lengths, divide by the tokens of all
   micro-batches of an update (`num_items_in_batch` of a Trainer).

## Known problems
Masks that are applied differently (`masked_fill`, `where`), sums that are divided by a
number of positions, and masks whose size differs from the losses are not seen.

## References
- SafeAILab/EAGLE#340, d2l-ai/d2l-en#2076, uncbiag/ICON#83
"""

import numpy as np

from ftlab.rules.rule import Results, Rule, Run, needs_operations
from ftlab.rules.words import at_steps

FEWEST = 3
"""Backwards that must have been looked at."""

SHARE = 0.9
"""Share of positions that count above which the scale is hardly another."""


class MeanOverMasked(Rule):
    """Finds means that are divided by positions that do not count."""

    code = "NUM027"
    caused_by = ("EXP005",)
    requires = needs_operations("backward", "a backward", "let it run for a step")

    def check(self, run: Run) -> Results:
        """Yield one finding over what was looked at."""
        seen = [e for e in run.ledger if e.op == "backward" and "counted" in e.detail]
        shares = np.array([entry.detail["counted"] for entry in seen])
        if len(shares) < FEWEST or not (shares <= SHARE).all():
            return
        share, least, most = np.median(shares), shares.min(), shares.max()
        first, last = seen[0].step, seen[-1].step
        between = f" ({least:.1%} to {most:.1%})" if most > least else ""
        yield self.note(
            f"{at_steps(first, last)}: the loss is a mean over all positions, of which "
            f"{share:.1%}{between} count: it is {1 / max(share, 1e-9):.3g} times "
            "smaller than the mean over those",
            cause="The losses of masked positions are 0, but the mean still counts "
            "them.",
            fix="(token_loss * mask).sum() / mask.sum(); or adapt the learning rate.",
            places={"op": ["mean", "mul"], "data": "labels"},
            steps=(first, last),
            evidence={
                "share": float(share),
                "least": float(least),
                "most": float(most),
                "backwards": len(shares),
                "threshold": SHARE,
            },
            healthy="a mean over the positions that count",
        )
