"""The rule MOD027, answers-never-end.

## What it does
Finds models that do not learn to stop: none of the answers to the watch's prompts ends,
and the token that would end them gets no likelier while the loss falls, though the rows
that are trained are shorter than the answers.

## Why is this bad?
Whoever serves the model gets answers up to the limit of every request: each costs the
most that it can, and after the answer comes an invented question or a repetition. The
loss does not show it.

## Evidence
The answers to the prompts of `ftlab.watch(..., prompts=[...])`: greedy, with the
adapter. Reported when the last 2 times that they were asked
- no answer ended before the limit; and
- at no token of any answer the end was as likely as 1 %, and everywhere less likely
  than nine tenths of what it had been at its likeliest, at an earlier time; and
- a trained row has at most three quarters as many tokens as an answer may have, so that
  there was room for an end; and
- the loss has fallen by a fifth, so that something is learned.
Measured on a small Llama that knew texts without turns and without ends, LoRA with the
head saved, rates of 1e-2 and 3e-3, two seeds, asked every 8 steps: where the end is
trained it is 0.04 to 0.29 likely at its likeliest place after 16 steps and 0.2 to 0.9
after 32; where a loss leaves it out, 0.0008 to 0.004, with its highest after 8 to 32
steps. With a rate of 3e-4, at which it takes 100 steps to be learned, it grows each
time from 2e-4 to 0.05, and falls after 40 steps where it is left out.
By hand: `model(ids).logits[0, -1].softmax(-1)[eos_token_id]` behind a whole answer.

## What to try
1. Look at the labels: `ftlab.data(dataset, tokenizer)` says whether the end is trained.
2. Is it the end that generation stops at? `model.generation_config.eos_token_id`
   against the last label of a row.
3. A padding token of its own, where `pad_token = eos_token` takes the end from labels.

## Known problems
Nothing is said without prompts, and of rows that are longer than the limit, such as
packed ones. A base that ends its answers already goes on to do so for long, whatever
the labels are. Who trains short texts without ends, to be continued, is told so too.

## References
- huggingface/trl#976, huggingface/transformers#23530 (pad_token = eos_token)
- unslothai/unsloth#416 (a fine-tuned model generates for ever)
"""

from collections.abc import Sequence

import numpy as np

from ftlab.rules.reading.answers import (
    LATEST,
    Asked,
    asked,
    length_of_a_row,
    needs_answers,
)
from ftlab.rules.rule import Results, Rule, Run
from ftlab.rules.words import counted, number

UNLIKELY = 0.01
"""Probability of the end, at its likeliest place, from which it is being learned."""

PEAK = 0.9
"""Share of its highest probability, below which an end is being learned no more."""

FALLEN = 0.8
"""Share of its start to which the loss of a model that learns has fallen."""

ROOM = 0.75
"""Share of the limit that a trained row may have for its end to be expected."""


class AnswersNeverEnd(Rule):
    """Finds models that unlearn to stop."""

    code = "MOD027"
    caused_by = ("DAT020", "MOD028")
    requires = needs_answers

    def check(self, run: Run) -> Results:
        """Yield one finding."""
        times = asked(run)
        latest = times[-LATEST:]
        if len(times) <= LATEST or any(each.ended for each in latest):
            return
        now, former = _likeliest(latest), _likeliest(times[:-LATEST])
        limit = max(int(each["limit"]) for each in latest[-1].answers)
        length = length_of_a_row(run)
        if not (now < UNLIKELY and now <= PEAK * former and length <= ROOM * limit):
            return
        if not _learns(run):
            return
        steps = latest[0].step, latest[-1].step
        many = len(latest[-1].answers)
        yield self.warning(
            f"steps {steps[0]}-{steps[1]}: none of {counted(many, 'answer')} ends "
            f"within {limit} tokens, though a trained row has "
            f"{counted(round(length), 'token')}; the probability of an end is at most "
            f"{number(now)} at any token, {number(former)} before",
            cause="The token that generation stops at is not trained: it is masked in "
            "the labels or ignored by the loss (pad_token = eos_token does both), or "
            "the texts end with another token.",
            fix="Train the end: the last label of a row that counts is "
            "model.generation_config.eos_token_id.",
            places={
                "config": "eos_token_id",
                "sample": [str(e["prompt"])[:60] for e in latest[-1].answers],
            },
            steps=steps,
            evidence={"end": now, "end_before": former, "threshold": UNLIKELY},
            healthy="answers end by themselves, and their end gets likelier",
        )


def _likeliest(times: Sequence[Asked]) -> float:
    """Return the highest probability of an end, NaN where none is known."""
    known = [each for time in times for each in time.all_of("end") if each == each]
    return max(known, default=float("nan"))


def _learns(run: Run) -> bool:
    """Tell whether the loss has fallen."""
    losses = run.steps["loss"]
    losses = losses[np.isfinite(losses)]
    return len(losses) > 1 and bool(np.median(losses[-8:]) <= FALLEN * losses[0])
