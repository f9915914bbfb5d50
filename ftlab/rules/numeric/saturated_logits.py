"""The rule NUM013, saturated-logits.

## What it does
Finds losses whose logits are multiplied by a constant so large that the softmax is
certain of one class at every position, and wrong.

## Why is this bad?
A saturated softmax has a derivative of 0 where it is right, and the maximum where it is
wrong, however small the error was. The loss is many times what it would be without the
constant, and learning is driven by a few tokens.

## Evidence
The cross entropy that backward is called on still holds the log-probabilities of each
token, and the graph behind it the constant (`logits / 1e-3`). A sample is measured on
steps 0-3, 4, 8, 16 and so on. All of this must hold at one of them: the entropy of
what the loss sees is below 0.05 of ln(classes); its loss is above ln(classes), the loss
of knowing nothing; and the same sample without the constant has less than half of that
loss. Measured on a small Llama with temperature 1e-3: entropy 0.04 nats of 4.85, loss
364, and 4.82 without the constant.
The size of a logit proves nothing, though thresholds of 8 or 10 are in use: a tiny
Llama and a tiny GPT-2 that memorize their data (200 steps to loss 0.005) pass 10 within
100 steps and end, healthy, with logits of 17.3 and 20.3.
By hand: `p = logits.softmax(-1); torch.special.entr(p).sum(-1).mean()`, beside
`math.log(p.shape[-1])`, with the scale and without it.

## What to try
1. Leave the temperature at 1 in training; it is for sampling.
2. In distillation divide by a temperature above 1, teacher and student alike.

## Known problems
A scale that is learned, or kept on a device other than the CPU, is not read. Logits
that are already too large in the head cannot be told from a confident model. Losses
that are fused with the head keep no log-probabilities.

## References
- torch, `torch.nn.functional.cross_entropy` (takes logits as they are)
"""

import math

import numpy as np

from ftlab.rules.reading.loss_rows import NEEDS, LossRow, loss_rows
from ftlab.rules.rule import Results, Rule, Run
from ftlab.rules.words import number

SURE = 0.05
"""Share of ln(classes) below which an entropy is that of a softmax without doubt."""

HALF = 0.5
"""Share of the loss that is left without the constant, at most."""


class SaturatedLogits(Rule):
    """Finds logits that a constant drives into saturation."""

    code = "NUM013"
    status = "stable"
    requires = NEEDS

    def check(self, run: Run) -> Results:
        """Yield one finding for each such term of the loss."""
        for row in loss_rows(run):
            if row.factor > 1 and row.text("head") and row.classes > 1:
                yield from self._check(row)

    def _check(self, row: LossRow) -> Results:
        chance = math.log(row.classes)
        entropy, loss = row.columns["loss_entropy"], row.columns["token_loss"]
        plain = row.columns["plain_loss"]
        bad = (entropy < SURE * chance) & (loss > chance) & (plain < HALF * loss)
        at = np.flatnonzero(bad)
        if not len(at):
            return
        first = at[0]
        step, op = int(row.steps[first]), row.text("factor_op")
        yield self.error(
            f"step {step}: the logits are multiplied by {number(row.factor)} before "
            f"the loss: entropy {number(entropy[first])} of {number(chance)} nats, "
            f"loss {number(loss[first])}; without it {number(plain[first])}",
            cause=f"A {'quotient' if op == 'div' else 'product'} with a constant "
            "saturates the softmax at every position: the gradient is at its maximum "
            "where it is wrong, and 0 where it is right.",
            fix="Pass the head's logits to the loss unchanged: temperature 1.",
            places={"op": op, "module": row.text("head")},
            steps=(step, int(row.steps[at[-1]])),
            evidence={
                "factor": row.factor,
                "entropy": float(entropy[first]),
                "loss": float(loss[first]),
                "plain_loss": float(plain[first]),
                "threshold": SURE * chance,
            },
            healthy="an entropy near the loss, whatever the size of the logits",
        )
