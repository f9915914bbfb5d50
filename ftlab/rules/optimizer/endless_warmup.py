"""The rule OPT010, endless-warmup.

## What it does
Compares how long a schedule warms up with how long the run, or the schedule itself, is.

## Why is this bad?
A warm-up that is longer than the run never reaches the configured rate: 500 steps of
warm-up in a run of 20 train at 4 % of it at best. The loss hardly moves, the rate's
curve looks as a warm-up should, and nothing fails.

## Evidence
The arguments of the schedule as its scheduler holds them (`num_warmup_steps`, the first
milestone of a SequentialLR that begins with a rising LinearLR, `pct_start` of a
OneCycleLR), or those of a Trainer that has no scheduler yet:
- *past-the-plan*: at least as many steps as the schedule has altogether;
- *past-the-run*: at least as many as the run will make (`max_steps`), counted in steps
  of the scheduler, of which several may come with each update;
- *fraction*: more than 0 and less than 1. `num_warmup_steps` counts steps, so 0.03 is
  no warm-up at all; only `TrainingArguments.warmup_steps` takes a share (transformers
  5: below 1). Reported where only the first update has a rate of 0.
It is known before the first step. Measured with get_linear_schedule_with_warmup(500,
20), learning rate 1e-2: the largest rate of 20 steps is 3.8e-4.
By hand: `[g["lr"] / g["initial_lr"] for g in optimizer.param_groups]`, at the end.

## What to try
1. 3 to 10 % of the optimizer steps: `num_warmup_steps=round(0.05 * total)`, or
   `warmup_steps=0.05` of a Trainer.
2. Count optimizer steps, not micro-batches and not samples.

## Known problems
A run that is shorter than its schedule on purpose (a trial of a few steps) is reported
too, with the rate that it trains at. The length of a custom loop is not known; it is
judged by its schedule alone. A custom function (LambdaLR) is not read.

## References
- transformers/optimization.py (get_scheduler), training_args.py (get_warmup_steps)
- Goyal et al. 2017, Accurate, Large Minibatch SGD, section 2.2 (warm-up)
"""

from collections.abc import Iterator

import numpy as np

from ftlab.records.finding import Finding, NotChecked, Severity
from ftlab.rules.reading.schedules import (
    Plan,
    may_be_scheduled,
    needs_schedule,
    per_update,
    plans_of,
    run_length,
)
from ftlab.rules.rule import Rule
from ftlab.rules.words import number
from ftlab.runlog.run import Run


class EndlessWarmup(Rule):
    """Finds warm-ups that are not over when training is."""

    code = "OPT010"
    name = "endless-warmup"
    since = "0.1.0"
    status = "preview"
    requires = (needs_schedule,)

    def applies(self, run: Run) -> bool:
        """Tell whether there is a schedule, or nothing has been stepped yet."""
        return may_be_scheduled(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding per schedule."""
        for plan in plans_of(run):
            length = run_length(run) * per_update(run, plan)
            if 0 < plan.warmup < 1 and plan.setting == "num_warmup_steps":
                yield self._fraction(run, plan)
            elif 0 < plan.total <= plan.warmup:
                yield self._endless(run, plan, plan.total, of_run=False)
            elif 0 < length <= plan.warmup:
                yield self._endless(run, plan, length, of_run=True)

    def _endless(self, run: Run, plan: Plan, length: float, *, of_run: bool) -> Finding:
        planned = plan.rates(int(length))
        share = (length - 1) / plan.warmup
        if planned is not None and len(planned):
            base = plan.asked.get("base_lrs") or [1.0]
            share = float(np.nanmax(planned / np.maximum(base, 1e-300)))
        whole = "the run makes" if of_run else "the schedule has"
        return self.finding(
            Severity.WARNING,
            f"the warm-up takes {number(plan.warmup)} steps, and {whole} "
            f"{number(length)}: the learning rate reaches {share:.0%} of its "
            "configured value",
            cause=f"{plan.setting} was copied from a longer run, or counts "
            "micro-batches or samples.",
            fix=f"Set {plan.setting} to 3-10 % of the optimizer steps, "
            f"{max(1, round(0.05 * length))} here.",
            places=plan.places(run, plan.setting),
            steps=(-1, max(-1, run.last_step)),
            evidence={
                "reason": "past-the-run" if of_run else "past-the-plan",
                "warmup": plan.warmup,
                "threshold": length,
                "share": share,
            },
            healthy="a warm-up of 3-10 % of the run",
        )

    def _fraction(self, run: Run, plan: Plan) -> Finding:
        return self.finding(
            Severity.WARNING,
            f"the warm-up takes {number(plan.warmup)} of a step: the first update has "
            "a rate of 0, the second the full rate",
            cause="A fraction of the run was passed where a number of steps is "
            "expected.",
            fix="num_warmup_steps=round(share * total), or warmup_steps=share in "
            "TrainingArguments.",
            places=plan.places(run, plan.setting),
            steps=(-1, max(-1, run.last_step)),
            evidence={"reason": "fraction", "warmup": plan.warmup, "threshold": 1},
            healthy="a warm-up counted in whole steps",
        )
