"""The rule MOD028, repetition-growing.

## What it does
Finds models that begin to repeat themselves while they are trained.

## Why is this bad?
An answer that goes round in circles is of no use. It shows before the loss does that a
model collapses, or learns something else than the next token.

## Evidence
The answers to the prompts of `ftlab.watch(..., prompts=[...])`: greedy, with the
adapter. The repetition of an answer is the share of its runs of 4 tokens that were
there before. Reported when the median over the prompts was at least 0.5 the last 2
times, at most 0.2 the first time, without the adapter and in the rows that are trained,
and at most half of the last answers ended by themselves. Measured on small Llamas that
answer chats with a repetition of 0 and are trained further, 3 seeds: on the next token
0 at 41 steps, with rates of 1e-2 to 0.3; on the token that was read, for labels that a
loss of one's own does not shift, 0.7 to 0.9 from step 16 to 24 on; with an unlikelihood
of tokens that were there before, of weight 5 and the wrong sign, 0.84 to 0.98 from step
8 on, and 0 with the right one.

## What to try
1. Is the loss that of the *next* token? `ftlab.prove(trainer)` compares it with the
   plain formula.
2. A smaller learning rate: `watch.updates` shows how far a step moves each layer.
3. Terms of a loss of one's own, such as an unlikelihood: is the sign right?

## Known problems
Of rows that have no labels and no ids as tensors their own repetition is not known.

## References
- Holtzman et al. 2020, The Curious Case of Neural Text Degeneration, arXiv:1904.09751
- Welleck et al. 2020, Neural Text Generation with Unlikelihood Training (share of
  repeated n-grams), arXiv:1908.04319
"""

import numpy as np

from ftlab.rules.reading.answers import LATEST, Asked, asked, needs_answers
from ftlab.rules.rule import Results, Rule, Run
from ftlab.rules.words import counted, number

MUCH, LITTLE = 0.5, 0.2
"""Repetition now, and before: half of an answer is old, or next to nothing is."""


class RepetitionGrowing(Rule):
    """Finds models that begin to go round in circles."""

    code = "MOD028"
    caused_by = ("EXP005", "NUM014")
    requires = needs_answers

    def check(self, run: Run) -> Results:
        """Yield one finding."""
        times = asked(run)
        latest = times[-LATEST:]
        if len(times) <= LATEST or any(each.ended > MUCH for each in latest):
            return
        now = min(_median(each, "repetition") for each in latest)
        plain = _median(latest[-1], "plain_repetition")
        trained = max(each.trained or 0.0 for each in latest)
        before = max(_median(times[0], "repetition"), np.nan_to_num(plain), trained)
        if not (now >= MUCH and before <= LITTLE):
            return
        steps = latest[0].step, latest[-1].step
        last = latest[-1].answers
        example = max(last, key=lambda each: float(each["repetition"]))
        yield self.warning(
            f"steps {steps[0]}-{steps[1]}: {counted(len(last), 'answer')} mostly repeat"
            f" themselves: {number(100 * now)} % of their runs of 4 tokens were there "
            f"before, at most {number(100 * before)} % at the start and in what is "
            f"trained; such as "
            f"{str(example['text'])[-40:]!r}",
            cause="The model collapses, or is trained on another token than the next "
            "one.",
            fix="Prove the loss (ftlab.prove), then lower the learning rate.",
            places={"sample": [str(each["prompt"])[:60] for each in last]},
            steps=steps,
            evidence={"repetition": now, "before": before, "threshold": MUCH},
            healthy="answers repeat themselves no more than the texts that are trained",
        )


def _median(each: Asked, name: str) -> float:
    known = [value for value in each.all_of(name) if value == value]
    return float(np.median(known)) if known else float("nan")
