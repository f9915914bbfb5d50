"""The rule NUM026, loss-worse-than-guessing.

## What it does
Finds models that are confident in the wrong tokens: the loss is above that of
predicting each token with the same probability.

## Why is this bad?
A language model that knows nothing has a loss of ln(vocabulary). A higher one means
confident and wrong. Before training that means that the labels do not belong to the
inputs; later, that the updates have destroyed what the model knew. The loss then falls
nicely, as the model unlearns, and by its curve such a run looks better than a healthy
one.

## Evidence
The loss for each micro-batch against the logarithm of `vocabulary` (the logits of one
position), where labels were in the batch: above 1.1 times it. A loop that accumulates
may divide its losses by their number or not: there it is the cross entropy itself where
that was measured, and elsewhere the sum by their number, the lower of the two. The
model's output must be confident as well: the entropy of its softmax is below
ln(vocabulary) by half of the loss's excess at least (by half of itself, where that is
less), otherwise it is a different loss, or a sum of several, and nothing is reported.
- *not-of-the-inputs*: at each of the first 3 steps, while the same logits compared with
  the next tokens of the inputs (`input_loss`) cost less than guessing: the model can
  predict the inputs, but not the labels. Labels of other samples, shuffled, or
  misaligned.
- *from-the-start*: the same, but the inputs cost as much, or could not be compared.
  A different tokenizer, data that is not language, or untrained weights that are
  confident, such as a head initialized with a large deviation: reported as info, as
  such runs learn.
- *left-behind*: it began below, but is above for 16 steps in a row. A learning rate
  that is far too high, or diverging steps.
A base with random weights starts at ln(vocabulary): labels drawn at random stay at 0.99
to 1.02 times it. trainproof's QLoRA of Qwen2.5-3B (ln of 151,936 is 11.9) began at 1.5
with healthy data, and at 18.9, 17.0, 15.3 with the labels of each sample shuffled.
A small Llama, GPT-2 and GPT-NeoX that were taught a language, 3 seeds: reversed labels
begin at 1.85 to 2.08 times ln(vocabulary), the inputs at less than 0.01 times it.
By hand: `cross_entropy(model(**batch).logits[:, :-1].flatten(0, 1),
batch["labels"][:, 1:].flatten())` against `math.log(model.config.vocab_size)`.

## What to try
1. Decode one sample: `tokenizer.decode(labels[labels != -100])` must be its completion.
2. Labels that a collator has shifted are shifted again by the model.
3. *left-behind*: restart at a tenth of the learning rate, with warm-up and clipping.

## Known problems
Bad labels that begin below ln(vocabulary) are not found: their loss converges to the
entropy of the label frequencies, and so does that of good data with nothing else to
learn. A baseline decides: the same run on data that is known to be good.

## References
- github.com/Mormolykos/trainproof, examples/gallery/bad_labels ("A single run cannot
  condemn this one"), lr_hot
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ftlab.rules.reading.loss_rows import loss_rows
from ftlab.rules.rule import Finding, Place, Results, Rule, Severity, needs_step_values
from ftlab.rules.words import at_steps, number
from ftlab.runlog.run import Run

ABOVE = 1.1
"""Times ln(vocabulary)."""

SURE = 0.5
"""Share of the excess by which the softmax's entropy is lower than it could be."""

FIRST, STREAK = 3, 16
"""Steps from the start, and steps in a row later on."""


class LossWorseThanGuessing(Rule):
    """Finds losses that only a model which is sure and wrong can have."""

    code = "NUM026"
    requires = (
        needs_step_values(
            "vocabulary",
            "the logits of the model",
            "watch a model whose output has logits: a loss that is fused with the head "
            "makes none",
        ),
        needs_step_values(
            "labels",
            "how many labels count in each batch",
            'pass the labels to the model: model(**batch) with batch["labels"]',
        ),
    )
    caused_by = ("OPT014", "NUM014", "OPT027")

    def check(self, run: Run) -> Results:
        """Yield one finding: of the start, or of the first streak above."""
        steps = run.steps
        chance = math.log(max(float(np.nanmax(steps["vocabulary"], initial=1.0)), 1.0))
        if not chance:
            return
        loss = _per_label(run)
        high = (loss > ABOVE * chance) & steps.known("labels")
        started = bool(len(loss)) and int(steps.step[0]) == 0
        if started and len(high) >= FIRST and high[:FIRST].all():
            if _sure(run, chance, loss, slice(0, FIRST)):
                yield self._at_the_start(run, chance, loss)
            return
        for end in np.flatnonzero(_streaks(high)).tolist():
            rows = slice(end - STREAK + 1, end + 1)
            if _began_below(run, chance) and _sure(run, chance, loss, rows):
                yield self._left_behind(run, chance, loss, rows)
                return

    def _at_the_start(
        self, run: Run, chance: float, loss: NDArray[np.float64]
    ) -> Finding:
        inputs = _input_loss(run)
        known = inputs < chance
        return self._finding(
            "not-of-the-inputs" if known else "from-the-start",
            run,
            chance,
            loss,
            slice(0, FIRST),
            words="before anything was learned, and that of the inputs "
            f"{number(inputs)}"
            if known
            else "before anything was learned",
            cause="The labels do not belong to the inputs, which the model can predict."
            if known
            else "The model is confident in other tokens: the labels do not belong to "
            "the inputs, the tokenizer is a different one, or the weights are random.",
            fix="Decode the labels of one sample, labels[labels != -100], next to its "
            "inputs; they should be equal, as the model shifts them.",
            places=[Place("data", "labels"), Place("object", "loss")],
            evidence={"input_loss": inputs},
            severity=Severity.WARNING if known else Severity.INFO,
        )

    def _left_behind(
        self, run: Run, chance: float, loss: NDArray[np.float64], rows: slice
    ) -> Finding:
        return self._finding(
            "left-behind",
            run,
            chance,
            loss,
            rows,
            words="after being below",
            cause="The updates have destroyed what the model knew: they were too "
            "large.",
            fix="Restart from the original weights, at a tenth of the rate.",
            places=[Place("object", "loss"), Place("optimizer", "lr")],
        )

    def _finding(
        self,
        reason: str,
        run: Run,
        chance: float,
        loss: NDArray[np.float64],
        rows: slice,
        *,
        words: str,
        cause: str,
        fix: str,
        places: Sequence[Place],
        evidence: Mapping[str, float] | None = None,
        severity: Severity = Severity.WARNING,
    ) -> Finding:
        steps = int(run.steps.step[rows][0]), int(run.steps.step[rows][-1])
        mean = float(np.nanmean(loss[rows]))
        return self.finding(
            severity,
            f"{at_steps(*steps)}: the loss is {number(mean)}, {words}; guessing gives "
            f"{number(chance)}",
            cause=cause,
            fix=fix,
            places=places,
            steps=steps,
            reason=reason,
            evidence={
                "loss": mean,
                "guessing": chance,
                "threshold": ABOVE,
                "entropy": float(np.nanmean(run.steps["entropy"][rows])),
                **(evidence or {}),
            },
            healthy="a language model's loss is below the logarithm of its vocabulary",
        )


def _per_label(run: Run) -> NDArray[np.float64]:
    """Return what a label costs in each step.

    A loop that accumulates may have divided its losses or not: their sum does not say
    it, and the only cross entropy of the run does, where it was measured.
    """
    steps = run.steps
    loss = steps["loss"] / np.maximum(steps["micro_batches"], 1)
    rows = [row for row in loss_rows(run) if "token_loss" in row.columns]
    if len(rows) == 1:
        measured = dict(zip(rows[0].steps, rows[0].columns["token_loss"], strict=True))
        for index in np.flatnonzero(steps["micro_batches"] > 1).tolist():
            loss[index] = measured.get(steps.step[index], loss[index])
    return loss


def _input_loss(run: Run) -> float:
    """Return what the inputs cost at the start, by the term that costs most; or NaN."""
    found = [
        float(row.columns["input_loss"][0])
        for row in loss_rows(run)
        if "input_loss" in row.columns and row.steps[0] < FIRST
    ]
    return max((each for each in found if math.isfinite(each)), default=math.nan)


def _sure(run: Run, chance: float, loss: NDArray[np.float64], rows: slice) -> bool:
    """Tell whether the softmax is as far from even as such a loss needs."""
    entropy = run.steps["entropy"][rows]
    known = np.isfinite(entropy)
    if not known.any():
        return False
    excess = float(np.nanmean(loss[rows])) - chance
    return chance - float(entropy[known].mean()) >= SURE * min(excess, chance)


def _began_below(run: Run, chance: float) -> bool:
    steps = run.whole.steps
    if not len(steps) or int(steps.step[0]) != 0:
        return False
    return bool((_per_label(run.whole)[:FIRST] < chance).all())


def _streaks(high: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mark the steps at which the loss has been high for `STREAK` steps."""
    found = np.zeros(len(high), bool)
    if len(high) >= STREAK:
        windows = np.lib.stride_tricks.sliding_window_view(high, STREAK)
        found[STREAK - 1 :] = windows.all(axis=1)
    return found
