"""The rule OPT028, schedule-never-moves.

## What it does
Finds schedulers that are stepped again and again but, with their settings, never change
a rate.

## Why is this bad?
A schedule was configured, but the run trains at a constant rate: no annealing, no
drops. The scheduler steps, its count grows, nothing fails.

## Evidence
The scheduler's steps, 3 with different counts (`last_epoch`) at least, none of which
has changed the rate of any group, and settings under which whole steps never do:
- *restarts-at-each-step*: CosineAnnealingWarmRestarts with `T_0=1` and `T_mult=1`
  restarts with each whole step, and always stays at its maximum. With fractions of an
  epoch, `step(epoch + i / len(loader))`, the rate moves, and the rule is quiet.
- *milestones-in-shares*: a MultiStepLR none of whose milestones is a whole number above
  0: they are compared with the step count, and 0.5 is never reached.
What is constant by definition is not reported: ConstantLR, a LambdaLR of 1, a gamma of
1, a cosine whose `eta_min` is the rate itself.
Measured: 32 steps of CosineAnnealingWarmRestarts(T_0=1) leave a rate of 1e-3 as it is;
T_0=8 gives 8 different ones.
By hand: `scheduler.get_last_lr()` after a few steps.

## What to try
1. `T_0 = len(loader)` where the scheduler is stepped for each batch.
2. `scheduler.step(epoch + i / len(loader))` where T_0 is in epochs.
3. `milestones=[round(share * total) for share in (0.5, 0.75)]`.

## Known problems
An epoch of one batch turns fractions into whole steps: the rate is constant all the
same, and is reported.

## References
- torch.optim.lr_scheduler.CosineAnnealingWarmRestarts.step, MultiStepLR.get_lr
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.rules.reading.schedules import Plan, plans_of, stepping
from ftlab.rules.reading.scheduling import may_have_schedulers, needs_scheduler_steps
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps, number
from ftlab.runlog.run import Run

REPEATS = 3
"""Steps of the scheduler, with different counts, that have changed nothing."""


class ScheduleNeverMoves(Rule):
    """Finds schedules that stand still by their own settings."""

    code = "OPT028"
    name = "schedule-never-moves"
    since = "0.1.0"
    status = "preview"
    requires = (needs_scheduler_steps,)

    def applies(self, run: Run) -> bool:
        """Tell whether there is a scheduler, or nothing has been stepped yet."""
        return may_have_schedulers(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding per scheduler."""
        for plan in plans_of(run):
            entries = [
                entry
                for entry in run.ledger
                if entry.op == "scheduler_step" and entry.target == plan.target
            ]
            counts = {entry.detail.get("epoch") for entry in entries}
            still = all(e.detail["lr_before"] == e.detail["lr_after"] for e in entries)
            if len(counts) >= REPEATS and still and (reason := _reason(plan)):
                steps = entries[0].step, entries[-1].step
                yield self._finding(run, plan, reason, steps, len(counts))

    def _finding(
        self, run: Run, plan: Plan, reason: str, steps: tuple[int, int], count: int
    ) -> Finding:
        restarts = reason == "restarts-at-each-step"
        setting = "T_0" if restarts else "milestones"
        kind = plan.facts.get("class")
        rate = (plan.asked.get("base_lrs") or [0.0])[0]
        return self.finding(
            Severity.WARNING,
            f"{at_steps(*steps)}: {kind} with {setting}={_shown(plan.asked[setting])} "
            f"has made {count} steps, but the rate stays at {number(float(rate))}",
            cause="T_0 counts scheduler steps: with 1 each of them is a restart."
            if restarts
            else "The milestones are fractions of the run, but are compared with the "
            "number of steps.",
            fix="Set T_0 to the number of steps in a cycle, or pass fractions of an "
            "epoch: scheduler.step(epoch + i / len(loader))."
            if restarts
            else "Give them in steps: round(share * total).",
            places=[
                Place("config", setting),
                Place("call", str(kind)),
                stepping(run, plan),
                Place("optimizer", "lr"),
            ],
            steps=steps,
            evidence={"reason": reason, "steps": count, "threshold": REPEATS},
            healthy="a rate that follows its schedule",
        )


def _reason(plan: Plan) -> str:
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
