"""The rule OPT017, plateau-upside-down.

## What it does
Finds ReduceLROnPlateau schedulers that wait for the wrong side of their metric: for a
loss to grow, or for an accuracy to fall.

## Why is this bad?
The metric gets better, the scheduler sees no improvement, and lowers the rate each time
its patience is over. The run slows down because it learns, and stops learning.

## Evidence
- *name*: a Trainer steps the scheduler with `metric_for_best_model`. Its name says
  which way is better, where it is a known one, and `mode` says the other. `mode` is
  "min" unless `lr_scheduler_kwargs` says otherwise, whatever `greater_is_better` is. It
  is known before the first step.
- *value*: the scheduler waits for larger values, and the best one that it has seen is,
  to six digits, the loss of a step, or a metric of an evaluation that is better when
  smaller (or the other way round); and it has lowered the rate.
Measured with transformers 5.23, metric_for_best_model="accuracy" and
lr_scheduler_type="reduce_lr_on_plateau": mode is "min".
By hand: `scheduler.mode`, and `scheduler.best` against the metric's history.

## What to try
1. `lr_scheduler_kwargs={"mode": "max"}`, or `ReduceLROnPlateau(optimizer, "max")`, for
   what is better when larger.
2. Leave `mode` at "min" for losses and perplexities.

## Known problems
A metric of one's own, that is no recorded loss and has no known name, is not judged.
That it is stepped for each batch is legal, and shows in the rate alone.

## References
- torch.optim.lr_scheduler.ReduceLROnPlateau (`mode`)
- transformers/trainer.py (`lr_scheduler.step(metrics[metric_to_check])`)
"""

import math
from collections.abc import Iterator

import numpy as np

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.rules.metric_directions import by_name
from ftlab.rules.rule import Rule, needs_facts
from ftlab.rules.schedules import Plan, plans_of, stepping
from ftlab.rules.scheduling import may_have_schedulers
from ftlab.runlog.run import Run

SAME = 1e-6
"""Relative distance of a metric and the loss that it is."""


class PlateauUpsideDown(Rule):
    """Finds schedules that take what gets better for what gets worse."""

    code = "OPT017"
    name = "plateau-upside-down"
    since = "0.1.0"
    status = "preview"
    requires = (
        needs_facts(
            "schedulers",
            "the learning-rate scheduler",
            "pass it: ftlab.watch(model, optimizer, scheduler=scheduler)",
        ),
    )

    def applies(self, run: Run) -> bool:
        """Tell whether there is a scheduler, or nothing has been stepped yet."""
        return may_have_schedulers(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding per such scheduler."""
        for plan in plans_of(run):
            mode = plan.asked.get("mode")
            waits = plan.facts.get("class") == "ReduceLROnPlateau"
            if not waits or mode not in {"min", "max"}:
                continue
            metric = str((run.facts.training.get("args") or {}).get(_CHOSEN) or "")
            if metric:
                direction = by_name(metric)
                if direction and direction.greater != (mode == "max"):
                    yield self._finding(run, plan, mode, metric, "name")
            elif (found := _given(run, plan, mode == "max")) is not None:
                yield self._finding(run, plan, mode, found, "value")

    def _finding(
        self, run: Run, plan: Plan, mode: str, metric: str, reason: str
    ) -> Finding:
        right = "min" if mode == "max" else "max"
        better = "smaller" if mode == "max" else "larger"
        return self.finding(
            Severity.WARNING,
            f"ReduceLROnPlateau has mode={mode!r} and is stepped with {metric}, which "
            f"is better when {better}: the rate falls as it gets better",
            cause="mode was left at its default."
            if mode == "min"
            else "mode was written for another metric.",
            fix=f"mode={right!r}; with a Trainer lr_scheduler_kwargs="
            f"{{'mode': {right!r}}}.",
            places=[
                Place("config", "mode"),
                Place("call", "ReduceLROnPlateau"),
                stepping(run, plan),
                Place("optimizer", "lr"),
            ],
            steps=(-1, max(-1, run.last_step)),
            evidence={"reason": reason, "mode": mode, "metric": metric},
            healthy="a mode that is the metric's own",
        )


_CHOSEN = "metric_for_best_model"


def _given(run: Run, plan: Plan, greater: bool) -> str | None:
    """Name what the scheduler was given, where it waits for its other side."""
    entries = [
        entry
        for entry in run.ledger
        if entry.op == "scheduler_step" and entry.target == plan.target
    ]
    falls = [e for e in entries if e.detail["lr_after"] < e.detail["lr_before"]]
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
