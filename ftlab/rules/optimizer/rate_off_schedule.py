"""The rule OPT016, rate-off-schedule.

## What it does
Compares the rates that a scheduler sets with those that its formula gives for the same
step.

## Why is this bad?
LinearLR, StepLR, CosineAnnealingLR and others multiply the rate in use from step to
step. Where the scheduler's state was loaded and the optimizer's was not, they go on
from the wrong rate, and all that follows is wrong by the same factor: a run resumed
after two tenfold drops continues at a hundred times its rate. A function that returns a
rate where LambdaLR expects a factor squares it: 1e-4 becomes 1e-8.

## Evidence
- *off-formula*: what the formula of the schedule gives at the scheduler's own count
  (`last_epoch`), from the base rates that it was made with, against what it has set: 1
  % off in 3 steps in a row at least, from the first one seen. Not judged where the
  groups were written to in between, or where several schedulers drive one optimizer.
  The formulas of transformers and torch are known; they agree with the libraries to
  nine digits.
- *rate-as-factor*: a LambdaLR over a function that is not known has set the square of
  its base rate, to six digits, and nothing above it, in 3 updates at least; base rates
  of 0.1 and more are not judged.
Measured: StepLR(2, 0.1), resumed at step 4 with the scheduler's state alone, sets 1e-2
where its formula gives 1e-4.
By hand: `scheduler.get_last_lr()` against `scheduler.base_lrs` and the formula.

## What to try
1. Load `optimizer.state_dict()` before the scheduler's: it contains the rate in use.
2. `LambdaLR(optimizer, lambda step: factor)`: 1 gives the base rate.

## Known problems
A function that returns a rate other than the optimizer's own cannot be told from one
that scales it down on purpose.

## References
- pytorch/pytorch#29697 (chainable schedulers after load_state_dict)
- torch.optim.lr_scheduler.LambdaLR (a factor, not a rate)
"""

import itertools
from collections.abc import Sequence

import numpy as np

from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.saving import first_facts
from ftlab.rules.reading.schedules import Plan, moves_of, plans_of, stepping
from ftlab.rules.reading.scheduling import needs_scheduler_steps
from ftlab.rules.rule import Finding, Place, Results, Rule, Run
from ftlab.rules.words import at_steps, number

OFF = 0.01
"""Relative distance from the formula."""

REPEATS = 3
"""Steps in which it must be wrong."""

SQUARE, SMALL = 1e-6, 0.1
"""How near a square must be, and from which base rate on it is told."""


class RateOffSchedule(Rule):
    """Finds rates that are not what their schedule stands for."""

    code = "OPT016"
    requires = needs_scheduler_steps

    def check(self, run: Run) -> Results:
        """Yield one finding per scheduler."""
        plans = plans_of(run)
        owners = [plan.facts.get("optimizer_index") for plan in plans]
        for plan, owner in zip(plans, owners, strict=True):
            entries = moves_of(run, plan)
            if owner is None or owners.count(owner) > 1 or len(entries) < REPEATS:
                continue
            if entries[0].step > first_facts(run).step:
                continue
            found = self._off(run, plan, entries) or self._square(run, plan, entries)
            if found is not None:
                yield found

    def _off(
        self, run: Run, plan: Plan, entries: Sequence[LedgerEntry]
    ) -> Finding | None:
        epochs = [entry.detail.get("epoch") for entry in entries[:REPEATS]]
        known = [epoch for epoch in epochs if isinstance(epoch, int) and epoch > 0]
        if len(known) < REPEATS or _written(entries[:REPEATS]):
            return None
        asked = plan.rates(max(known) + 1)
        used = [entry.detail["lr_after"] for entry in entries[:REPEATS]]
        if asked is None or any(len(each) != asked.shape[1] for each in used):
            return None
        wanted = asked[known]
        least = OFF * np.maximum(wanted, OFF * np.nanmax(asked))
        off = np.abs(np.asarray(used) - wanted) > least
        groups = np.flatnonzero(off.all(axis=0))
        if not len(groups):
            return None
        group = int(groups[0])
        first, last = entries[0].step, entries[-1].step
        return self._finding(
            run,
            plan,
            "off-formula",
            (first, last),
            f"{at_steps(first, last)}: at step {known[0]} of its schedule "
            f"{plan.facts.get('class')} sets {number(used[0][group])}, its formula "
            f"gives {number(wanted[0, group])}",
            cause="The schedule continues from the rate in use, which is not the one "
            "it had: the scheduler's state was loaded, but not the optimizer's.",
            fix="Load the optimizer's state_dict with the scheduler's, or set each "
            "group's lr to scheduler.get_last_lr() once.",
        )

    def _square(
        self, run: Run, plan: Plan, entries: Sequence[LedgerEntry]
    ) -> Finding | None:
        base = np.asarray(plan.asked.get("base_lrs") or [], np.float64)
        if plan.facts.get("class") != "LambdaLR" or plan.rates(1) is not None:
            return None
        rates = [entries[0].detail["lr_before"]]
        rates += [entry.detail["lr_after"] for entry in entries]
        if not len(base) or any(len(each) != len(base) for each in rates):
            return None
        used = np.asarray(rates)
        squares = base**2 * (1 + SQUARE)
        hit = (used >= base**2 * (1 - SQUARE)).any(axis=0) & (used <= squares).all(
            axis=0
        )
        if not (hit & (base > 0) & (base < SMALL)).all():
            return None
        first, last = entries[0].step, entries[-1].step
        return self._finding(
            run,
            plan,
            "rate-as-factor",
            (first, last),
            f"{at_steps(first, last)}: the rate in use is at most "
            f"{number(float(used.max()))}, the square of the {number(float(base[0]))} "
            "that the optimizer was created with",
            cause="The function of LambdaLR returns a rate, but its value is "
            "multiplied by the base rate.",
            fix="Return a factor, 1 for the full base rate; or create the optimizer "
            "with lr=1.0.",
        )

    def _finding(
        self,
        run: Run,
        plan: Plan,
        reason: str,
        steps: tuple[int, int],
        message: str,
        *,
        cause: str,
        fix: str,
    ) -> Finding:
        return self.warning(
            message,
            cause=cause,
            fix=fix,
            places=[
                Place("optimizer", "lr"),
                Place("call", "scheduler"),
                stepping(run, plan),
            ],
            steps=steps,
            reason=reason,
            evidence={"threshold": OFF},
            healthy="the formula's rates, to nine digits",
        )


def _written(entries: Sequence[LedgerEntry]) -> bool:
    """Tell whether somebody has set a rate between steps of the scheduler."""
    pairs = itertools.pairwise(entries)
    return any(a.detail["lr_after"] != b.detail["lr_before"] for a, b in pairs)
