"""The rule OPT017, plateau-upside-down.

## What it does
Finds ReduceLROnPlateau schedulers with the wrong direction for their metric: waiting
for a loss to grow, or for an accuracy to fall.

## Why is this bad?
The metric gets better, the scheduler sees no improvement, and lowers the rate each time
its patience runs out. The run slows down because it learns, and stops learning.

## Evidence
- *name*: a Trainer steps the scheduler with `metric_for_best_model`. Its name says
  which way is better, where it is a known one, and `mode` says the other. `mode` is
  "min" unless `lr_scheduler_kwargs` says otherwise, whatever `greater_is_better` is. It
  is known before the first step.
- *value*: the scheduler waits for larger values, and the best one that it has seen is,
  to six digits, the loss of a step, or a metric of an evaluation that is better when
  smaller (or the other way round); and it has lowered the rate.
- *share*: what it is given are shares k/n of one n of at most 10,000 (an accuracy, an
  error rate), 3 different ones at least, which other numbers are by chance with a
  probability below 1e-4, by the bits that the run's losses have. It waits for smaller
  ones, and lowers the rate when the share has risen from below to above 1/2, by 0.2 and
  by 5 deviations of counting to n at least, while the loss of training has fallen by a
  tenth: error rates on what is learned do not. With mode "max" it is the same for a
  share that falls. *info* where the numbers may have been rounded to 4 decimals or
  fewer. Measured over 2000 drawn series of 3 to 30 evaluations each, the falling loss
  and rate taken for granted: no warning of evaluation losses that rise, in float32,
  float64, or bfloat16 like the training's, nor of error rates over 20 to 5000 samples
  that fall, stay, or rise by up to 0.15. Of accuracies that rise by any amount 37 % are
  found. Rising losses that are rounded to 2, 3 or 4 decimals are noted, up to 43 %.
- *follows*: it waits for larger values, and what it is given lies within a factor of
  1.5 of the losses of the steps before, at 3 evaluations at least, always above 1 (no
  share), and is lower when the rate is lowered than at first, as the loss is: so does
  a loss, and no score.
Measured with transformers 5.23, metric_for_best_model="accuracy" and
lr_scheduler_type="reduce_lr_on_plateau": mode is "min".
By hand: `scheduler.mode`, and `scheduler.best` against the metric's history.

## What to try
1. `lr_scheduler_kwargs={"mode": "max"}`, or `ReduceLROnPlateau(optimizer, "max")`, for
   metrics that are better when larger.
2. Leave `mode` at "min" for losses and perplexities.

## Known problems
A custom metric that is no recorded loss, has no known name and is no share is not
judged. An error rate on data other than what is learned (a task that is forgotten) may
rise past 1/2 while the loss falls; so may an evaluation's loss in bfloat16 beside
losses in float32, whose few bits look like shares (43 % of those series). Stepping it
for each batch is legal, and shows only in the rate.

## References
- torch.optim.lr_scheduler.ReduceLROnPlateau (`mode`)
- md-mohaiminul/ViS4mer#4 (an accuracy with the default mode)
- transformers/trainer.py (`lr_scheduler.step(metrics[metric_to_check])`)
"""

import math

import numpy as np
from numpy.typing import NDArray

from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.metric_directions import by_name
from ftlab.rules.reading.schedules import Plan, moves_of, plans_of, stepping
from ftlab.rules.reading.scheduling import may_have_schedulers
from ftlab.rules.reading.shares import FEWEST, bits_of, clearly_risen, shares_of
from ftlab.rules.rule import Finding, Place, Results, Rule, Run, Severity, needs_facts

METRIC = "plateau_metric"
FALLEN = 0.9
"""What is left of the training loss when it has fallen by as much as is asked for."""

NEAR = 1.5
"""Factor up to which a metric that is a loss is the training loss."""

SAME = 1e-6
"""Relative distance of a metric and the loss that it is."""

_ENDS = (np.fmin.reduce, np.fmax.reduce)

Floats = NDArray[np.float64]


class PlateauUpsideDown(Rule):
    """Finds schedules that take what gets better for what gets worse."""

    code = "OPT017"
    requires = needs_facts(
        "schedulers",
        "the learning-rate scheduler",
        "pass it: ftlab.watch(model, optimizer, scheduler=scheduler)",
    )
    applies = staticmethod(may_have_schedulers)

    def check(self, run: Run) -> Results:
        """Yield one finding per such scheduler."""
        waiting = [p for p in plans_of(run) if p.facts.get("class") == _CLASS]
        metric = str((run.facts.training.get("args") or {}).get(_CHOSEN) or "")
        direction = by_name(metric) if metric else None
        for plan in waiting:
            mode = plan.asked.get("mode")
            if mode not in {"min", "max"}:
                continue
            greater, alone = mode == "max", len(waiting) == 1
            if direction is not None:
                if direction.greater != greater:
                    yield self._finding(run, plan, mode, metric, "name")
            elif not metric and (found := _given(run, plan, greater)) is not None:
                yield self._finding(run, plan, mode, found, "value")
            elif alone and greater and _follows_the_loss(run, plan):
                yield self._finding(
                    run, plan, mode, "a value that follows the loss", "follows"
                )
            elif alone and (counted := _turned(run, plan, greater)) is not None:
                share, rounded = counted
                severity = Severity.INFO if rounded else Severity.WARNING
                yield self._finding(run, plan, mode, share, "share", severity)

    def _finding(
        self,
        run: Run,
        plan: Plan,
        mode: str,
        metric: str,
        reason: str,
        severity: Severity = Severity.WARNING,
    ) -> Finding:
        right = "min" if mode == "max" else "max"
        better = "smaller" if mode == "max" else "larger"
        return self.finding(
            severity,
            f"ReduceLROnPlateau has mode={mode!r} and is stepped with {metric}, which "
            f"is better when {better}: the rate falls as it gets better",
            cause="mode was left at its default."
            if mode == "min"
            else "mode was set for a different metric.",
            fix=f"mode={right!r}; with a Trainer lr_scheduler_kwargs="
            f"{{'mode': {right!r}}}.",
            places=[
                Place("config", "mode"),
                Place("call", "ReduceLROnPlateau"),
                stepping(run, plan),
                Place("optimizer", "lr"),
            ],
            steps=(-1, max(-1, run.last_step)),
            reason=reason,
            evidence={"mode": mode, "metric": metric},
            healthy="a mode that matches the metric",
        )


_CHOSEN = "metric_for_best_model"
_CLASS = "ReduceLROnPlateau"


def _given(run: Run, plan: Plan, greater: bool) -> str | None:
    """Name what the scheduler was given, where it waits for its other side."""
    entries, falls = _steps_of(run, plan)
    best = entries[-1].detail.get("best") if entries else None
    if not falls or not isinstance(best, float) or not math.isfinite(best) or not best:
        return None
    if greater and bool(np.isclose(run.steps["loss"], best, rtol=SAME, atol=0).any()):
        return "the loss"
    for evaluation in run.evaluations:
        for name, value in evaluation.metrics.items():
            direction = by_name(name)
            if direction is None or not math.isclose(value, best, rel_tol=SAME):
                continue
            if direction.greater != greater:
                return name
    return None


def _follows_the_loss(run: Run, plan: Plan) -> bool:
    """Tell whether what was given is next to the loss, and had fallen with it."""
    _, falls = _steps_of(run, plan)
    steps = run.whole.steps
    if not falls or METRIC not in steps.columns:
        return False
    rows = np.flatnonzero(steps.known(METRIC) & (steps.step <= falls[-1].step))
    if len(rows) < FEWEST:
        return False
    starts = [0, *(rows[:-1] + 1)]
    spans = [steps["loss"][i:j] for i, j in zip(starts, rows + 1, strict=True)]
    low, high = (np.array([f(each) for each in spans]) for f in _ENDS)
    given = steps[METRIC][rows]
    near = (low / NEAR < given) & (given < high * NEAR) & (given > 1)
    return bool(near.all() and given[-1] < given[0] and low[-1] < low[0])


def _turned(run: Run, plan: Plan, greater: bool) -> tuple[str, bool] | None:
    """Name the share that had clearly got better when the rate was lowered.

    Returns
    -------
    tuple or None
        The share in words, and whether its values may have been rounded.
    """
    _, falls = _steps_of(run, plan)
    steps = run.whole.steps
    if METRIC not in steps.columns:
        return None
    given, losses = steps.known(METRIC), steps["loss"]
    for fall in falls:
        rows = np.flatnonzero(given & (steps.step <= fall.step))
        values = _from_zero_to_one(steps[METRIC][rows])
        if len(rows) < FEWEST or not _has_fallen(losses, rows):
            continue
        first, last = (1 - values if greater else values)[[0, -1]].tolist()
        if not first < 1 / 2 < last:
            continue
        shares = shares_of(
            values.tolist(), bits_of(losses[np.isfinite(losses)].tolist())
        )
        if shares is not None and clearly_risen(first, last, shares.count):
            what = f"an error rate over {shares.count} samples"
            if not greater:
                what = f"a share of {shares.count} samples, such as an accuracy"
            was, now = values[[0, -1]].tolist()
            moved = "falls" if greater else "rises"
            return f"{what} that {moved} from {was:.3g} to {now:.3g}", shares.rounded
    return None


def _steps_of(run: Run, plan: Plan) -> tuple[list[LedgerEntry], list[LedgerEntry]]:
    """Return the scheduler's steps, and those that lowered a rate."""
    entries = moves_of(run, plan)
    return entries, [e for e in entries if e.detail["lr_after"] < e.detail["lr_before"]]


def _from_zero_to_one(values: Floats) -> Floats:
    """Return percentages as shares."""
    return values / 100 if len(values) and values.max() > 1 else values


def _has_fallen(losses: Floats, rows: NDArray[np.intp]) -> bool:
    """Tell whether the loss before the last evaluation is below that before the first.

    Parameters
    ----------
    losses
        Of each step.
    rows
        The steps of the evaluations.
    """
    early, late = losses[: rows[0] + 1], losses[rows[-2] + 1 : rows[-1] + 1]
    return bool(np.nanmean(late) < FALLEN * np.nanmean(early))
