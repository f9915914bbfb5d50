"""The rule OPT011, schedule-over-too-early.

## What it does
Finds schedules that end long before the run: from there on the rate is 0, or it rises
again, as the formula does beyond its end.

## Why is this bad?
The remaining steps train nothing, and cost as much as the others. A cosine that is
stepped beyond its end climbs back to the peak, and undoes what it has annealed.

## Evidence
- *planned*: the lengths of the run (`max_steps`) and of the schedule are known, and it
  is at 1 % of its peak or below from there to the end, for a fifth of the run at least.
  It is known before the first step. A total that was computed for one epoch of several,
  for one process or from samples shows here.
- *at-zero*: all groups have had a rate above 0 and are now at exactly 0, in 3 updates
  in a row at least and in 5 % of all updates, after a scheduler has stepped: an end
  that is a few steps off, from remainders of epochs, is not reported, nor is a wave
  that waits for the next step of its scheduler. Reported as info where the schedule's
  length is not known (a function in a LambdaLR): it may be a pause.
- *rises-again*: a cosine of transformers (`num_cycles=0.5`) or a CosineAnnealingLR has
  made more steps than it was planned for, and has lifted the rate in 3 in a row. A
  CosineAnnealingLR is a wave by its definition, and some use it as one: it is a warning
  where the run will end before the wave does, otherwise info.
- *waves-of-few-updates*: a CosineAnnealingLR that is stepped for each update, with a
  `T_max` of at most 5, has returned to its maximum twice, and fallen below half of it
  in between. Such waves are no longer than what Adam averages over (10 updates at a
  beta of 0.9): they are a `T_max` counted in epochs. Longer ones, and those of a
  scheduler that is stepped per epoch or restarts, are not reported.
Measured: get_linear_schedule_with_warmup(total=6) in a run of 24 updates has rate 0 in
18 of them; healthy schedules (linear, cosine, restarts, steps, cyclic) never had more
than one update at 0 after their beginning. CosineAnnealingLR(T_max=4), meant for 4
epochs of 8 updates, is at its top again after 8, 16, 24 and 32 of them.
By hand: `scheduler.last_epoch` against the steps that are left, and
`scheduler.get_last_lr()`.

## What to try
1. `total = len(loader) // accumulation * epochs`: batches, not samples, of all epochs.
2. For a cosine that restarts use CosineAnnealingWarmRestarts.
3. Per epoch or per step: count the total in the scheduler's own steps.

## Known problems
A run that continues at 0 on purpose (to collect statistics) is reported too, and so are
waves of ten updates where an epoch is one batch.

## References
- torch.optim.lr_scheduler.CosineAnnealingLR (periodic in 2 T_max)
- transformers/optimization.py (no bound at num_training_steps in the cosine)
"""

from collections.abc import Iterator

import numpy as np

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.schedules import (
    Plan,
    may_be_scheduled,
    needs_schedule,
    per_update,
    plans_of,
    run_length,
    stepping,
)
from ftlab.rules.reading.updates import skipped_steps
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps, number
from ftlab.runlog.run import Run

LOW = 0.01
"""Of its peak: what a schedule that is over has left."""

IDLE = 0.2
"""Of the run, planned at that rate."""

STREAK, SHARE = 3, 0.05
"""Updates in a row at 0, and which part of all they are."""

SHORT, TOPS = 5, 2
"""A `T_max` in updates that is no wave to want, and how often it has come round."""

WAVES = {
    "CosineAnnealingLR": "T_max",
    "_get_cosine_schedule_with_warmup_lr_lambda": "num_training_steps",
}
"""Schedules that rise behind their end."""


class ScheduleOverTooEarly(Rule):
    """Finds schedules that end before the run does."""

    code = "OPT011"
    name = "schedule-over-too-early"
    since = "0.1.0"
    status = "preview"
    requires = (needs_schedule,)
    caused_by = ("OPT003",)

    def applies(self, run: Run) -> bool:
        """Tell whether there is a schedule, or nothing has been stepped yet."""
        return may_be_scheduled(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding at most."""
        plans = plans_of(run)
        for plan in plans:
            found = self._waves(run, plan) or self._rising(run, plan)
            if found is not None:
                yield found
                return
        if plans and (found := self._at_zero(run, plans[0])) is not None:
            yield found
            return
        for plan in plans:
            if (found := self._planned(run, plan)) is not None:
                yield found
                return

    def _waves(self, run: Run, plan: Plan) -> Finding | None:
        length = plan.asked.get("T_max")
        kind, each = plan.facts.get("class"), per_update(run, plan)
        if kind != "CosineAnnealingLR" or not length or length > SHORT or each < 1:
            return None
        steps = _steps_of(run, plan)
        tops = [e for e in steps if (e.detail.get("epoch") or 1) % (2 * length) == 0]
        if len(tops) < TOPS:
            return None
        between = [e for e in steps if _time(tops[0]) <= _time(e) <= _time(tops[-1])]
        rates = [max(entry.detail["lr_after"]) for entry in between]
        if min(rates) > max(rates) / 2:
            return None
        return self._finding(
            run,
            plan,
            "waves-of-few-updates",
            (steps[0].step, tops[-1].step),
            f"{at_steps(steps[0].step, tops[-1].step)}: {kind} has "
            f"T_max={number(length)} and is stepped for each update: its rate has "
            f"returned to the maximum {len(tops)} times, and fallen to "
            f"{number(min(rates))} in between",
            threshold=SHORT,
        )

    def _rising(self, run: Run, plan: Plan) -> Finding | None:
        setting = WAVES.get(str(plan.asked.get("schedule") or plan.facts.get("class")))
        total = plan.asked.get(setting or "")
        if not total or plan.asked.get("num_cycles", 0.5) != 0.5:
            return None
        past = [e for e in _steps_of(run, plan) if (e.detail.get("epoch") or 0) > total]
        if len(past) < STREAK or not all(map(_lifts, past[-STREAK:])):
            return None
        length = run_length(run) * per_update(run, plan)
        meant = setting == "T_max" and (not length or length >= 2 * total)
        first, last = past[0].step, past[-1].step
        low, high = past[0].detail["lr_before"], past[-1].detail["lr_after"]
        return self._finding(
            run,
            plan,
            "rises-again",
            (first, last),
            f"{at_steps(first, last)}: the schedule ended after {number(total)} of its "
            f"steps, and its rate rises again, {number(max(low))} -> "
            f"{number(max(high))}",
            severity=Severity.INFO if meant else Severity.WARNING,
            threshold=total,
        )

    def _at_zero(self, run: Run, plan: Plan) -> Finding | None:
        rates = np.nan_to_num(run.steps["lr"][~skipped_steps(run)])
        steps = run.steps.step[~skipped_steps(run)]
        alive = np.flatnonzero(rates.any(axis=1))
        moves = _steps_of(run, plan)
        if not len(alive) or not moves:
            return None
        idle = len(rates) - 1 - int(alive[-1])
        gaps = np.diff([-1, *(entry.step for entry in moves)])
        if plan.facts.get("class") == "CosineAnnealingLR" and idle <= gaps.max():
            return None
        if idle < max(STREAK, SHARE * len(rates)):
            return None
        first, last = int(steps[alive[-1] + 1]), int(steps[-1])
        return self._finding(
            run,
            plan,
            "at-zero",
            (first, last),
            f"{at_steps(first, last)}: the schedule has ended at a learning rate of 0, "
            "but training continues: nothing is learned any more",
            severity=Severity.WARNING if plan.total else Severity.INFO,
            threshold=STREAK,
        )

    def _planned(self, run: Run, plan: Plan) -> Finding | None:
        length = run_length(run)
        each = per_update(run, plan) if length and plan.total else 0.0
        if not each or plan.total > (1 - IDLE) * length * each:
            return None
        rates = plan.rates(int(length * each))
        if rates is None:
            return None
        peak = np.nanmax(rates, axis=0)
        alive = (np.nan_to_num(rates) > LOW * peak).any(axis=1)
        over = int(np.flatnonzero(alive)[-1]) + 1 if alive.any() else 0
        if not over or over > (1 - IDLE) * len(rates):
            return None
        first = int(over / each)
        return self._finding(
            run,
            plan,
            "planned",
            (-1, max(-1, run.last_step)),
            f"the schedule is planned for {number(plan.total)} steps, the run has "
            f"{length}: from step {first} on its rate is at or near 0",
            threshold=LOW,
        )

    def _finding(
        self,
        run: Run,
        plan: Plan,
        reason: str,
        steps: tuple[int, int],
        message: str,
        *,
        severity: Severity = Severity.WARNING,
        threshold: float,
    ) -> Finding:
        places = plan.places(run, plan.length)
        if not plan.length:
            places = [Place("optimizer", "lr"), Place("call", "scheduler")]
        return self.finding(
            severity,
            message,
            cause="Its total was not computed from the updates of the whole run, but "
            "from one epoch, samples, one process, or an earlier run.",
            fix="Count the updates: len(loader) // accumulation * epochs.",
            places=[*places, stepping(run, plan)],
            steps=steps,
            evidence={
                "reason": reason,
                "total": plan.total,
                "run": run_length(run),
                "threshold": threshold,
            },
            healthy="a schedule as long as the run",
        )


def _steps_of(run: Run, plan: Plan) -> list[LedgerEntry]:
    return [
        entry
        for entry in run.ledger
        if entry.op == "scheduler_step" and entry.target == plan.target
    ]


def _time(entry: LedgerEntry) -> tuple[int, int]:
    return entry.step, entry.index


def _lifts(entry: LedgerEntry) -> bool:
    pairs = zip(entry.detail["lr_before"], entry.detail["lr_after"], strict=False)
    return any(after > before for before, after in pairs)
