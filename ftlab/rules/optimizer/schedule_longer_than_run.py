"""The rule OPT012, schedule-longer-than-run.

## What it does
Compares the length that a schedule was planned for with the number of updates in the
run.

## Why is this bad?
A decay that is planned too long never happens: the run ends at a rate near its peak,
and the annealing, where much of the loss falls, is missing. The usual reason is a total
that counts micro-batches: with accumulation over 8 the run ends after an eighth of the
schedule.

## Evidence
The total in the schedule's arguments, the run's `max_steps`, and how many steps the
scheduler makes for each update. Both lengths are known before the first step.
- *micro-batches*: the total is the run's length times its accumulation, to 1 % or one
  update of each epoch. A warning.
- *longer*: at least 1.5 times the run, and the formula has not fallen below half of its
  peak at the run's end. Reported as info: a run that will be continued later is planned
  like that.
Measured with accumulation over 4: the rate at the end of a linear schedule is 0.76 of
its peak, where 0.05 was intended.
By hand: `scheduler.get_last_lr()` at the end of the run.

## What to try
1. `total = len(loader) // accumulation * epochs`; with accelerate, and its scheduler
   prepared, times the number of processes.
2. Leave the schedule to the Trainer, which counts its own updates.

## Known problems
The length of a custom loop is not known while it runs.

## References
- transformers/trainer.py (`num_training_steps=max_steps`)
- accelerate/scheduler.py (AcceleratedScheduler steps once for each process)
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

LONGER = 1.5
"""Times the run."""

LEFT = 0.5
"""Of the peak, at the run's end."""

NEAR = 0.01
"""How near a total must be to the number of micro-batches."""


class ScheduleLongerThanRun(Rule):
    """Finds schedules of which the run sees the beginning only."""

    code = "OPT012"
    name = "schedule-longer-than-run"
    since = "0.1.0"
    status = "preview"
    requires = (needs_schedule,)
    caused_by = ("OPT010",)

    def applies(self, run: Run) -> bool:
        """Tell whether there is a schedule, or nothing has been stepped yet."""
        return may_be_scheduled(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding per schedule."""
        for plan in plans_of(run):
            length = run_length(run) * per_update(run, plan)
            if not length or plan.total < LONGER * length or plan.warmup >= length:
                continue
            rates = plan.rates(int(length))
            if rates is None:
                continue
            peak = np.nanmax(rates, axis=0)
            left = float(np.nanmax(rates[-1] / np.where(peak > 0, peak, np.inf)))
            if left >= LEFT:
                yield self._finding(run, plan, length, left)

    def _finding(self, run: Run, plan: Plan, length: float, left: float) -> Finding:
        training = run.facts.training
        accumulated = int(training.get("gradient_accumulation_steps") or 1)
        epochs = float((training.get("args") or {}).get("num_train_epochs") or 1)
        spare = max(NEAR * plan.total, accumulated * epochs)
        micro = (
            accumulated > 1 and abs(plan.total - accumulated * run_length(run)) <= spare
        )
        return self.finding(
            Severity.WARNING if micro else Severity.INFO,
            f"the schedule is planned for {number(plan.total)} steps, the run has "
            f"{number(length)}: it ends at {left:.0%} of the peak rate",
            cause=f"The total counts micro-batches, {accumulated} per update."
            if micro
            else "The schedule was planned for a longer run.",
            fix=f"Set {plan.length} to {number(length)}.",
            places=plan.places(run, plan.length),
            steps=(-1, max(-1, run.last_step)),
            evidence={
                "reason": "micro-batches" if micro else "longer",
                "total": plan.total,
                "threshold": length,
                "left": left,
            },
            healthy="a schedule as long as the run",
        )
