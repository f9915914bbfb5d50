"""The rule OPT011, schedule-length-off.

## What it does
Finds schedules whose lengths do not fit the run: the total, the warm-up, a period or
milestones that were counted in epochs, samples, micro-batches or shares, while the
scheduler counts its own steps.

## Why is this bad?
Nothing fails, and the curve of the rate looks as it should, for as long as anybody
looks. Over too early, the remaining steps train nothing, and a cosine that is stepped
beyond its end climbs back to the peak and undoes what it has annealed. Too long, the
decay, where much of the loss falls, never happens. A warm-up of 500 steps in a run of
20 trains at 4 % of the configured rate at best. A rate that never moves is not
annealed.

## Evidence
The arguments of the schedule as its scheduler holds them (`num_training_steps`,
`num_warmup_steps`, `T_max`, `milestones`, `pct_start`, ...) or those of a Trainer that
has no scheduler yet; the run's `max_steps`; and how many steps the scheduler makes for
each update. Most of it is known before the first step.

Over too early:
- *planned*: by its formula the rate is at 1 % of its peak or below for the last fifth
  of the run at least.
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

Too long:
- *micro-batches*: the total is the run's length times its accumulation, to 1 % or one
  update of each epoch. A warning.
- *longer*: at least 1.5 times the run, and the formula has not fallen below half of its
  peak at the run's end. Reported as info: a run that will be continued later is planned
  like that.

The warm-up:
- *past-the-plan*, *past-the-run*: it takes at least as many steps as the schedule has,
  or the run will make.
- *fraction*: more than 0 and less than 1. `num_warmup_steps` counts steps, so 0.03 is
  no warm-up at all; only `TrainingArguments.warmup_steps` takes a share (transformers
  5: below 1).

Never moving, in 3 steps with different counts (`last_epoch`) at least:
- *restarts-at-each-step*: CosineAnnealingWarmRestarts with `T_0=1` and `T_mult=1`
  restarts with each whole step. With fractions of an epoch the rate moves.
- *milestones-in-shares*: a MultiStepLR none of whose milestones is a whole number above
  0: they are compared with the step count, and 0.5 is never reached.

Measured: get_linear_schedule_with_warmup(total=6) in a run of 24 updates has rate 0 in
18 of them; healthy schedules (linear, cosine, restarts, steps, cyclic) never had more
than one update at 0 after their beginning. CosineAnnealingLR(T_max=4), meant for 4
epochs of 8 updates, is at its top again after 8, 16, 24 and 32 of them. With
accumulation over 4 counted as steps, a linear schedule ends at 0.76 of its peak instead
of 0.05. With a warm-up of 500 in a run of 20 and a rate of 1e-2, the largest is 3.8e-4.
By hand: `scheduler.last_epoch` against the steps that are left, and
`[g["lr"] / g["initial_lr"] for g in optimizer.param_groups]` at the end.

## What to try
1. `total = len(loader) // accumulation * epochs`: batches, not samples, of all epochs;
   with accelerate, and its scheduler prepared, times the number of processes. Or leave
   it to the Trainer, which counts its own updates.
2. 3 to 10 % of it for the warm-up: `num_warmup_steps=round(0.05 * total)`, or
   `warmup_steps=0.05` of a Trainer.
3. Per epoch or per step: count in the scheduler's own steps. `T_0 = len(loader)` where
   it is stepped for each batch, or `scheduler.step(epoch + i / len(loader))`;
   `milestones=[round(share * total) for share in (0.5, 0.75)]`.
4. For a cosine that restarts use CosineAnnealingWarmRestarts.

## Known problems
A run that is shorter than its schedule on purpose (a trial of a few steps), or goes on
at 0 to collect statistics, is reported too; so are waves of ten updates where an epoch
is one batch. The length of a custom loop is not known; it is judged by its schedule
alone. A custom function (LambdaLR) is not read. What is constant by definition
(ConstantLR, a gamma of 1) is not reported.

## References
- torch.optim.lr_scheduler.CosineAnnealingLR (periodic in 2 T_max),
  CosineAnnealingWarmRestarts.step, MultiStepLR.get_lr
- transformers/optimization.py (no bound at num_training_steps in the cosine),
  trainer.py (`num_training_steps=max_steps`), training_args.py (get_warmup_steps)
- accelerate/scheduler.py (AcceleratedScheduler steps once for each process)
- Goyal et al. 2017, Accurate, Large Minibatch SGD, section 2.2 (warm-up)
"""

from collections.abc import Sequence

import numpy as np

from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.schedules import (
    Plan,
    may_be_scheduled,
    moves_of,
    needs_schedule,
    per_update,
    plans_of,
    run_length,
    stepping,
)
from ftlab.rules.reading.updates import skipped_steps
from ftlab.rules.rule import Finding, Place, Results, Rule, Run, Severity
from ftlab.rules.words import at_steps, number

LOW = 0.01
"""Of its peak: what a schedule that is over has left."""

IDLE = 0.2
"""Of the run, planned at that rate."""

LONGER, LEFT = 1.5, 0.5
"""Times the run, and what is left of the peak at its end."""

NEAR = 0.01
"""How near a total must be to the number of micro-batches."""

REPEATS = 3
"""Steps of the scheduler, with different counts, that have changed nothing."""

STREAK, SHARE = 3, 0.05
"""Updates in a row at 0, and which part of all they are."""

SHORT, TOPS = 5, 2
"""A `T_max` in updates that is no wave to want, and how often it has come round."""

WAVES = {
    "CosineAnnealingLR": "T_max",
    "_get_cosine_schedule_with_warmup_lr_lambda": "num_training_steps",
}
"""Schedules that rise behind their end."""


EARLY = (
    "Its total was not computed from the updates of the whole run, but from one epoch, "
    "samples, one process, or an earlier run."
)
"""Why a schedule ends too early."""


class ScheduleLengthOff(Rule):
    """Finds schedules whose settings make them too short, too long or constant."""

    code = "OPT011"
    requires = needs_schedule
    caused_by = ("OPT003",)
    applies = staticmethod(may_be_scheduled)

    def check(self, run: Run) -> Results:
        """Yield what is wrong with each schedule; that it ends too early, once."""
        plans = plans_of(run)
        for plan in plans:
            length = run_length(run) * per_update(run, plan)
            for judge in (self._warmup, self._longer):
                if (found := judge(run, plan, length)) is not None:
                    yield found
            if (found := self._still(run, plan)) is not None:
                yield found
        if (found := self._early(run, plans)) is not None:
            yield found

    def _warmup(self, run: Run, plan: Plan, length: float) -> Finding | None:
        fix = f"Set {plan.setting} to 3-10 % of the optimizer steps"
        if 0 < plan.warmup < 1 and plan.setting == "num_warmup_steps":
            return self._finding(
                run,
                plan,
                "fraction",
                f"the warm-up takes {number(plan.warmup)} of a step: the first update "
                "has a rate of 0, the second the full rate",
                setting=plan.setting,
                cause="A fraction of the run was passed where a number of steps is "
                "expected.",
                fix="num_warmup_steps=round(share * total), or warmup_steps=share in "
                "TrainingArguments.",
                threshold=1,
            )
        of_plan = 0 < plan.total <= plan.warmup
        limit = plan.total if of_plan else length
        if not 0 < limit <= plan.warmup:
            return None
        planned, share = plan.rates(int(limit)), (limit - 1) / plan.warmup
        if planned is not None and len(planned):
            base = plan.asked.get("base_lrs") or [1.0]
            share = float(np.nanmax(planned / np.maximum(base, 1e-300)))
        return self._finding(
            run,
            plan,
            "past-the-plan" if of_plan else "past-the-run",
            f"the warm-up takes {number(plan.warmup)} steps, and "
            f"{'the schedule has' if of_plan else 'the run makes'} {number(limit)}: "
            f"the learning rate reaches {share:.0%} of its configured value",
            setting=plan.setting,
            cause=f"{plan.setting} was copied from a longer run, or counts "
            "micro-batches or samples.",
            fix=f"{fix}, {max(1, round(0.05 * limit))} here.",
            warmup=plan.warmup,
            threshold=limit,
            share=share,
        )

    def _longer(self, run: Run, plan: Plan, length: float) -> Finding | None:
        if not length or plan.total < LONGER * length or plan.warmup >= length:
            return None
        rates = plan.rates(int(length))
        if rates is None:
            return None
        peak = np.nanmax(rates, axis=0)
        left = float(np.nanmax(rates[-1] / np.where(peak > 0, peak, np.inf)))
        if left < LEFT:
            return None
        training = run.facts.training
        accumulated = int(training.get("gradient_accumulation_steps") or 1)
        epochs = float((training.get("args") or {}).get("num_train_epochs") or 1)
        spare = max(NEAR * plan.total, accumulated * epochs)
        micro = (
            accumulated > 1 and abs(plan.total - accumulated * run_length(run)) <= spare
        )
        return self._finding(
            run,
            plan,
            "micro-batches" if micro else "longer",
            f"the schedule is planned for {number(plan.total)} steps, the run has "
            f"{number(length)}: it ends at {left:.0%} of the peak rate",
            severity=Severity.WARNING if micro else Severity.INFO,
            setting=plan.length,
            cause=f"The total counts micro-batches, {accumulated} per update."
            if micro
            else "The schedule was planned for a longer run.",
            fix=f"Set {plan.length} to {number(length)}.",
            threshold=length,
            left=left,
        )

    def _still(self, run: Run, plan: Plan) -> Finding | None:
        entries = moves_of(run, plan)
        counts = {entry.detail.get("epoch") for entry in entries}
        still = all(e.detail["lr_before"] == e.detail["lr_after"] for e in entries)
        if len(counts) < REPEATS or not still or not (reason := _why_still(plan)):
            return None
        restarts = reason == "restarts-at-each-step"
        setting = "T_0" if restarts else "milestones"
        kind = str(plan.facts.get("class"))
        rate = (plan.asked.get("base_lrs") or [0.0])[0]
        steps = entries[0].step, entries[-1].step
        return self._finding(
            run,
            plan,
            reason,
            f"{at_steps(*steps)}: {kind} with {setting}={_shown(plan.asked[setting])} "
            f"has made {len(counts)} steps, but the rate stays at "
            f"{number(float(rate))}",
            steps=steps,
            places=[
                Place("config", setting),
                Place("call", kind),
                stepping(run, plan),
                Place("optimizer", "lr"),
            ],
            cause="T_0 counts scheduler steps: with 1 each of them is a restart."
            if restarts
            else "The milestones are fractions of the run, but are compared with the "
            "number of steps.",
            fix="Set T_0 to the number of steps in a cycle, or pass fractions of an "
            "epoch: scheduler.step(epoch + i / len(loader))."
            if restarts
            else "Give them in steps: round(share * total).",
            threshold=REPEATS,
        )

    def _early(self, run: Run, plans: Sequence[Plan]) -> Finding | None:
        """Tell in one way that a schedule ends before the run does."""
        for plan in plans:
            found = self._waves(run, plan) or self._rising(run, plan)
            if found is not None:
                return found
        if plans and (found := self._at_zero(run, plans[0])) is not None:
            return found
        return next(filter(None, (self._planned(run, plan) for plan in plans)), None)

    def _waves(self, run: Run, plan: Plan) -> Finding | None:
        length = plan.asked.get("T_max")
        kind, each = plan.facts.get("class"), per_update(run, plan)
        if kind != "CosineAnnealingLR" or not length or length > SHORT or each < 1:
            return None
        steps = moves_of(run, plan)
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
            f"{at_steps(steps[0].step, tops[-1].step)}: {kind} has "
            f"T_max={number(length)} and is stepped for each update: its rate has "
            f"returned to the maximum {len(tops)} times, and fallen to "
            f"{number(min(rates))} in between",
            steps=(steps[0].step, tops[-1].step),
            threshold=SHORT,
        )

    def _rising(self, run: Run, plan: Plan) -> Finding | None:
        setting = WAVES.get(str(plan.asked.get("schedule") or plan.facts.get("class")))
        total = plan.asked.get(setting or "")
        if not total or plan.asked.get("num_cycles", 0.5) != 0.5:
            return None
        past = [e for e in moves_of(run, plan) if (e.detail.get("epoch") or 0) > total]
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
            f"{at_steps(first, last)}: the schedule ended after {number(total)} of its "
            f"steps, and its rate rises again, {number(max(low))} -> "
            f"{number(max(high))}",
            severity=Severity.INFO if meant else Severity.WARNING,
            steps=(first, last),
            threshold=total,
        )

    def _at_zero(self, run: Run, plan: Plan) -> Finding | None:
        rates = np.nan_to_num(run.steps["lr"][~skipped_steps(run)])
        steps = run.steps.step[~skipped_steps(run)]
        alive = np.flatnonzero(rates.any(axis=1))
        moves = moves_of(run, plan)
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
            f"{at_steps(first, last)}: the schedule has ended at a learning rate of 0, "
            "but training continues: nothing is learned any more",
            severity=Severity.WARNING if plan.total else Severity.INFO,
            steps=(first, last),
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
            f"the schedule is planned for {number(plan.total)} steps, the run has "
            f"{length}: from step {first} on its rate is at or near 0",
            threshold=LOW,
        )

    def _finding(
        self,
        run: Run,
        plan: Plan,
        reason: str,
        message: str,
        *,
        severity: Severity = Severity.WARNING,
        steps: tuple[int, int] | None = None,
        setting: str = "",
        places: Sequence[Place] = (),
        cause: str = EARLY,
        fix: str = "Count the updates: len(loader) // accumulation * epochs.",
        **evidence: float,
    ) -> Finding:
        if setting:
            places = plan.places(run, setting)
        elif not places:
            unknown = [Place("optimizer", "lr"), Place("call", "scheduler")]
            places = plan.places(run, plan.length) if plan.length else unknown
            places = [*places, stepping(run, plan)]
        lengths = {"total": plan.total, "run": run_length(run)}
        return self.finding(
            severity,
            message,
            cause=cause,
            fix=fix,
            places=places,
            steps=steps or (-1, max(-1, run.last_step)),
            reason=reason,
            evidence={**lengths, **evidence},
            healthy="a schedule as long as the run, a warm-up of 3-10 % of it",
        )


def _time(entry: LedgerEntry) -> tuple[int, int]:
    return entry.step, entry.index


def _lifts(entry: LedgerEntry) -> bool:
    pairs = zip(entry.detail["lr_before"], entry.detail["lr_after"], strict=False)
    return any(after > before for before, after in pairs)


def _why_still(plan: Plan) -> str:
    """Name why the schedule's settings keep it where it is; nothing where they move."""
    asked, kind = plan.asked, plan.facts.get("class")
    if kind == "CosineAnnealingWarmRestarts":
        lowest = asked.get("eta_min", 0.0)
        swings = any(rate != lowest for rate in asked.get("base_lrs") or ())
        if asked.get("T_0") == 1 and asked.get("T_mult") == 1 and swings:
            return "restarts-at-each-step"
    if kind == "MultiStepLR" and asked.get("gamma") != 1:
        at = asked.get("milestones") or ()
        if at and not any(each > 0 and each == int(each) for each in at):
            return "milestones-in-shares"
    return ""


def _shown(value: object) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(number(float(each)) for each in value)}]"
    return str(value)
