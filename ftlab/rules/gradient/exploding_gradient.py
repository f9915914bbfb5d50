"""The rule GRD002, exploding-gradient.

## What it does
Finds the step of a run from which the gradient norm stays far above its own history
while the loss climbs.

## Why is this bad?
Updates of that size undo what was learned within a few steps. Clipping bounds the size
of the update but not the harm: its direction comes from a few examples, and under Adam
the large second moment slows the run long after the gradients are normal again.

## Evidence
The global gradient norm (accumulated, before clipping) and the loss of each step that
was not skipped, against the median of up to 32 steps before. All three must hold:
- the norm is at least 10 times that median for 3 steps in a row;
- the largest of these is at least 30 times that median, or infinite;
- the loss is at least 1.5 times the median of the losses before, and of the first one.
Where the loss is at least 3 times any loss before, a norm of 3 times the median is
enough besides the peak: a model thrown that far saturates, and its gradients shrink.
Measured over 13 healthy runs of 60 steps (LoRA, DoRA, rsLoRA, full, mixture of experts;
AdamW and SGD): the largest jump of one step was 2.7 times the median. With a learning
rate of 1.0 in AdamW the norm went to 153 (LoRA) and 666 times (full), the loss to 12
and 16 times, within three steps; over 9 seeds and sizes of the former the norm's peak
was 106 to 2,680 times, the third step's 7 to 108 times, and the loss 7 to 16 times by
then. At 0.1, where full fine-tuning wobbles (6 times, loss
1.7 times) and recovers, the rule is quiet. An absolute norm is never compared: healthy
norms span several orders of magnitude between models. Where gradients were clipped and
the limit was above all of these norms, the rule says so.

## What to try
1. A 10 times lower learning rate, or a warm-up: compare `update_l2` with `weight_l2`.
2. Look at the batch of the first such step: a sample without padding mask or with
   labels that were never seen gives the same picture.
3. Clip by norm at about the healthy median.
4. Resume from a checkpoint before the first step named here.

## Known problems
A switch to much harder data after the old data was memorised looks the same when the
rule's window holds no step from before it. One large batch alone never fires. A loss
that stays below 0.01 (of a policy, which hovers around 0) is not judged.

## References
- Pascanu et al. 2013, On the difficulty of training recurrent neural networks
- Chowdhery et al. 2022, PaLM, section 5.1 (spikes of the loss)
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ftlab.rules.reading.needs import needs_losses
from ftlab.rules.reading.tensors import in_a_row, params, records_of
from ftlab.rules.reading.updates import may_have_gradients, skipped_steps
from ftlab.rules.rule import Place, Results, Rule, Run, Severity, needs_step_values
from ftlab.rules.words import at_steps, number

LASTING = 10.0
"""Times the median of the steps before, held for `STREAK` steps."""

LASTING_FAR_OFF = 3.0
"""The same where the loss is `FAR_OFF`; healthy jumps of one step are up to 2.7."""

PEAK = 30.0
"""Times the median of the steps before, reached once within the streak."""

STREAK = 3
"""Steps in a row."""

LOSS = 1.5
"""Times the median loss of the steps before."""

FAR_OFF = 3.0
"""Times the largest loss of the steps before: thrown off, not shaken."""

HOVERS = 0.01
"""Losses below it tell nothing: a policy's went from 5e-9 to 4e-4 as it began."""

HISTORY = 32
"""Steps that the median looks back on."""

Floats = NDArray[np.float64]


class ExplodingGradient(Rule):
    """Finds gradients that leave their own history behind."""

    code = "GRD002"
    status = "stable"
    requires = (
        needs_step_values("grad_norm", "the global gradient norm of each step"),
        needs_losses,
    )
    caused_by = ("OPT014", "GRD005", "OPT027")
    applies = staticmethod(may_have_gradients)

    def check(self, run: Run) -> Results:
        """Yield one finding, at the step where the norm left its history."""
        table = run.steps
        rows = np.flatnonzero(~skipped_steps(run) & table.known("grad_norm"))
        norm, loss = table["grad_norm"][rows], table["loss"][rows]
        if len(rows) <= STREAK or not _may_explode(norm):
            return
        reference = median_before(norm)
        ends = np.flatnonzero(explodes(norm, loss, reference))
        if not len(ends):
            return
        begin = ends[0] - STREAK + 1
        steps = table.step[rows]
        first, last = int(steps[begin]), int(steps[ends[-1]])
        before, peak = reference[begin], float(np.nanmax(norm[begin : ends[-1] + 1]))
        loss_before = float(np.nanmedian(loss[max(0, begin - HISTORY) : begin]))
        clipped = table["clip_coefficient"][rows][begin : ends[0] + 1]
        yield self.finding(
            Severity.WARNING if (clipped < 1).any() else Severity.ERROR,
            f"{at_steps(first, last)}: gradient norm rose from {number(before)} to "
            f"{number(norm[begin])}, up to {number(peak)}; loss {number(loss_before)} "
            f"-> {number(loss[ends[0]])}",
            cause=_cause(table["lr"][rows], begin)
            + _idle_limit(table["clip_norm"][rows][begin], clipped),
            fix="Lower the learning rate tenfold or warm it up; resume from a "
            f"checkpoint before step {first}.",
            places=[Place("object", "gradients"), *_largest(run, first)],
            steps=(first, last),
            evidence={
                "norm": peak,
                "median_before": float(before),
                "threshold": PEAK,
                "loss_before": loss_before,
                "loss": float(loss[ends[0]]),
            },
            healthy="a norm within 3 times the median of the steps before",
        )


def median_before(norm: Floats) -> Floats:
    """Return the median of up to `HISTORY` finite norms before each step."""
    history = np.where(np.isfinite(norm), norm, np.nan)
    padded = np.concatenate([np.full(HISTORY, np.nan), history[:-1]])
    windows = np.sort(sliding_window_view(padded, HISTORY), axis=1)
    count = np.isfinite(windows).sum(axis=1)
    rows = np.arange(len(norm))
    low = windows[rows, np.maximum(count - 1, 0) // 2]
    high = windows[rows, np.minimum(count // 2, HISTORY - 1)]
    return np.where(count > 0, (low + high) / 2, np.nan)


def explodes(norm: Floats, loss: Floats, reference: Floats) -> NDArray[np.bool_]:
    """Mark the last step of each streak that shows all three signs.

    The median that counts is the one before the streak, so that the streak itself does
    not lift it.
    """
    marked = np.zeros(len(norm), bool)
    loss_before = median_before(loss)
    for end in range(STREAK, len(norm)):
        begin = end - STREAK + 1
        streak, base = norm[begin : end + 1], reference[begin]
        if not base > 0 or not streak.max() >= PEAK * base:
            continue
        after = loss[begin + 1 : end + 1]
        if (after < HOVERS).all():
            continue
        level = LOSS * max(loss_before[begin], loss[0])
        shaken = not (after < level).any() and (streak >= LASTING * base).all()
        far = FAR_OFF * np.nanmax(loss[:begin], initial=0.0)
        thrown = far > 0 and not (after < far).any()
        marked[end] = shaken or (thrown and (streak >= LASTING_FAR_OFF * base).all())
    return marked


def _may_explode(norm: Floats) -> bool:
    """Tell cheaply whether any streak could be found: most runs end here."""
    positive = norm[norm > 0]
    if not len(positive):
        return False
    return bool(in_a_row(norm >= LASTING_FAR_OFF * positive.min(), STREAK).any())


def _largest(run: Run, step: int) -> list[Place]:
    """Return the parameters with the largest gradients at ``step``."""
    if "grad_l2" not in run.columns():
        return []
    matrix = run.matrix("grad_l2", start=step, stop=step + 1)
    if not len(matrix.steps):
        return []
    order = np.argsort(-np.nan_to_num(matrix.values[0], nan=-1.0, posinf=np.inf))[:3]
    return params(records_of(run, matrix.ids[order]))


def _idle_limit(limit: float, factors: Floats) -> str:
    """Tell of a limit that even these gradients did not reach."""
    if not np.isfinite(limit) or not (factors == 1).all():
        return ""
    return f" Clipping to {number(limit)} let them through."


def _cause(lr: Floats, begin: int) -> str:
    used = lr[begin - 1] if begin else lr[0]
    if not np.isfinite(used).any():
        return "The update before it, or its batch; the learning rate was not recorded."
    return (
        "The update before it, or its batch. The learning rate of that update was "
        f"{number(float(np.nanmax(used)))}."
    )
