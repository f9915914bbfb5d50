"""The rule NUM001, non-finite-loss.

## What it does
Finds the first step whose loss is NaN or infinite. It reads the loss that backward was
called on, so it also sees what a trainer leaves out of its logs.

## Why is this bad?
The gradient of such a loss is NaN nearly everywhere. One update with it turns the
weights, and for good the moments of Adam, into NaN; no later step can repair that.

## Evidence
The recorded loss of each step. There is no threshold: a finite loss never counts.
Where no label counted (all are -100) the rule says so: torch then gives a NaN loss and
gradients of exactly 0, so no weight is affected.
Where tensors are recorded the rule also says whether a gradient was non-finite at an
earlier step while the loss was still finite: then the weights were poisoned first.
The operation that made the first NaN is named where the loss lies on the CPU, or once
a loss was seen not to be finite: the graph still holds what each operation saved for
backward, and the rule searches for the first one that gives a NaN from inputs without
one. Where the gradients were NaN first and the loss was not, the operations are named
whose derivative is infinite at what they were given (root of 0, log of 0, an
exponential that overflowed under a mask); they are checked on steps 0-3, 4, 8, 16 and
so on.
A step that a GradScaler skipped affects no weight. It counts only when the scale cannot
have caused it: a NaN at three skipped steps in a row (multiplying a finite loss by a
scale gives an infinity, never a NaN), or an infinity at a scale of 1 or less.
transformers 5.23 replaces a non-finite loss by the mean of the losses since the last
log while `logging_nan_inf_filter` is true, its default. In a run made for this page
(NaN from step 4 on, logged every step) the log said 4.85 and then 0.0.

## What to try
1. If every label is -100: look at the batch with `ftlab.tokens`. Completions are
   truncated by the maximum length, or the mask covers them.
2. `ftlab.debug(...)`: it stops at the first tensor that is not finite, before the
   weights change, and names the module.
3. In your own loss: `log_softmax` for `log(softmax(x))`, `torch.xlogy` for `p * log p`,
   a divisor that cannot be 0 for masked means.
4. Reload the last good checkpoint, optimizer state included: it holds NaN too.
5. In fp16: bf16, or float32 for the op that overflows. Set
   `logging_nan_inf_filter=False`, so that the log shows the real loss.

## Known problems
A loss that is infinite on purpose (an unreachable label under a hard mask) counts.
While a GradScaler still lowers its scale, an infinite loss waits for scale 1.

## References
- pytorch/pytorch#68425 (a NaN gradient through the branch of `where` not taken)
- transformers, `TrainingArguments.logging_nan_inf_filter`
"""

import numpy as np
from numpy.typing import NDArray

from ftlab.rules.reading.needs import needs_losses
from ftlab.rules.reading.tensors import in_a_row, records_of
from ftlab.rules.reading.updates import skipped_steps
from ftlab.rules.reasons.origins import Origin, origin_of
from ftlab.rules.rule import Place, Results, Rule, Run, Severity
from ftlab.rules.words import at_steps, counted, number

Bools = NDArray[np.bool_]

SKIPPED_NANS = 3
"""Skipped steps in a row with a NaN loss that the scaler's search cannot explain."""


class NonFiniteLoss(Rule):
    """Finds losses that are NaN or infinite."""

    code = "NUM001"
    status = "stable"
    caused_by = ("NUM004", "NUM007", "DAT004", "DAT005")
    requires = needs_losses

    def check(self, run: Run) -> Results:
        """Yield one finding for all non-finite losses."""
        bad = bad_steps(run)
        if not bad.any():
            return
        table = run.steps
        loss, steps = table["loss"][bad], table.step[bad]
        first, last = int(steps[0]), int(steps[-1])
        kind = "NaN" if np.isnan(loss[0]) else "infinite"
        poisoned = poisoned_before(run, first)
        harmless = bool(skipped_steps(run)[bad].all())
        empty = not poisoned and bool((table["labels"][bad] == 0).all())
        finite = bool(np.isfinite(table["grad_norm"][bad]).all())
        step = int(poisoned[0].name) if poisoned else first
        origin = origin_of(run, step, "gradients" if poisoned else "loss")
        harmless |= empty and finite
        message = (
            f"loss is {kind} at step {first}; {len(steps)} of "
            f"{counted(len(table), 'loss', 'losses')} in "
            f"{at_steps(int(table.step[0]), int(table.step[-1]))} "
            f"{'is' if len(steps) == 1 else 'are'} not finite"
            f"{_before(run, first)}{_made(origin, step, first)}"
        )
        yield self.finding(
            Severity.WARNING if harmless else Severity.ERROR,
            message + _filtered(run),
            cause=_no_labels(finite) if empty else _cause(poisoned, origin, harmless),
            fix=_FIX_LABELS if empty else _fix(origin, step),
            places=[
                *([] if empty else origin.places),
                Place("object", "loss"),
                Place("step", str(first)),
                *poisoned[1:],
            ],
            steps=(first, last),
            evidence={
                "kind": kind,
                "count": len(steps),
                "threshold": "finite",
                "origin": origin.name or "not known",
                "logging_nan_inf_filter": str(_filter(run)),
            },
            healthy="every loss is a finite number",
        )


def bad_steps(run: Run) -> NDArray[np.bool_]:
    """Mark the non-finite losses that no scaler is about to handle."""
    table = run.steps
    loss, skipped = table["loss"], skipped_steps(run)
    bad: Bools = table.known("loss") & ~np.isfinite(loss)
    if not (bad & skipped).any():
        return bad
    scale = np.nan_to_num(table["loss_scale"], nan=1.0)
    lasting = in_a_row(bad & skipped & np.isnan(loss), SKIPPED_NANS)
    return np.asarray(bad & (~skipped | lasting | (scale <= 1)), bool)


def poisoned_before(run: Run, first: int) -> tuple[Place, ...]:
    """Return the step before ``first`` whose gradients were not finite, and where."""
    if "grad_max" not in run.columns():
        return ()
    matrix = run.matrix("grad_max", stop=first)
    applied = np.isin(matrix.steps, run.steps.step[~skipped_steps(run)])
    bad = matrix.known & ~np.isfinite(matrix.values) & applied[:, None]
    lines = np.flatnonzero(bad.any(axis=1))
    if not len(lines):
        return ()
    line = lines[0]
    names = records_of(run, matrix.ids[bad[line]])
    step = Place("step", str(int(matrix.steps[line])))
    return (step, *(Place("param", name.name) for name in names))


def _before(run: Run, first: int) -> str:
    table = run.steps
    index = int(np.searchsorted(table.step, first))
    if index == 0 or not np.isfinite(table["loss"][index - 1]):
        return ""
    return f" (it was {number(table['loss'][index - 1])} one step before)"


def _filter(run: Run) -> bool:
    return run.facts.training.get("logging_nan_inf_filter") is True


def _filtered(run: Run) -> str:
    if not _filter(run):
        return ""
    return ". The Trainer's log hides it (logging_nan_inf_filter is true)"


_FIX_LABELS = (
    "Look at the batch with ftlab.tokens(batch=..., tokenizer=...): are the "
    "completions truncated by the maximum length, or does the mask cover them? Drop "
    "such samples, or keep more of their text."
)


def _no_labels(finite: bool) -> str:
    """Say what a mean over no label is, and whether it did harm."""
    text = (
        "Every label of these batches is -100, which the loss ignores: the mean over "
        "no labels is 0/0."
    )
    return text + " The gradients stayed finite: no weight was affected." * finite


def _made(origin: Origin, step: int, first: int) -> str:
    """Name the operation where it is known."""
    if not origin.ops:
        return ""
    what = "it" if step == first else f"the gradient of step {step}"
    return f"; {origin.name} produced {what}"


def _cause(poisoned: tuple[Place, ...], origin: Origin, harmless: bool) -> str:
    if poisoned:
        return (
            f"The gradient was already non-finite at {poisoned[0]}, while the loss was "
            f"finite, first in {poisoned[1]}; that update made the weights non-finite."
            f" {origin.cause}".rstrip()
        )
    if harmless:
        return (
            "It occurs in the forward pass at every scale, so lowering the loss scale "
            "cannot help. The scaler skipped these steps: no weight was affected yet. "
            f"{origin.cause}".rstrip()
        )
    return origin.cause or (
        "It arose in the forward pass or the loss, while all recorded gradients and "
        "weights were still finite. The log cannot tell which op it was."
    )


def _fix(origin: Origin, step: int) -> str:
    run = (
        f"Run ftlab.debug(...) up to step {step}: it stops at the first non-finite "
        "tensor. Then resume from a checkpoint before that step."
    )
    return f"{origin.fix} {run}".strip()
