"""The rule OPT008, scheduler-of-another-optimizer.

## What it does
Finds learning-rate schedulers that belong to an optimizer which never steps, while the
optimizer that trains keeps a constant rate.

## Why is this bad?
The schedule runs, its rate is logged and falls as planned, but the rate in use stays
what it was: no warm-up, no decay. Nothing fails.

## Evidence
Each step of a scheduler with the rates before and after it, and each step of an
optimizer with its rates. Found when a scheduler changed its rates in 4 steps at least,
its own optimizer never stepped, another one did after the scheduler had started, at the
same rates in all steps, and none of the schedulers belongs to that one. Wrappers are
looked through. A loop that copies the rates by hand changes them, and is quiet.
Measured: LinearLR from 3e-3 to 1.5e-4 in 16 steps, the rate in use stays 3e-3.
By hand: `scheduler.optimizer is optimizer`, and `optimizer.param_groups[0]["lr"]`
instead of `scheduler.get_last_lr()`.

## What to try
1. Build the scheduler from the optimizer that is stepped.
2. Log the rate from `optimizer.param_groups`.

## Known problems
A scheduler is seen if it is passed to ftlab, or its optimizer holds a parameter of the
model.

## References
- torch.optim.lr_scheduler (a schedule writes into the groups of its own optimizer);
  torch warns "Detected call of `lr_scheduler.step()` before `optimizer.step()`"
"""

from collections.abc import Sequence

from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.method_place import method_place
from ftlab.rules.reading.scheduling import needs_scheduler_steps
from ftlab.rules.rule import Finding, Place, Results, Rule, Run
from ftlab.rules.words import at_steps, number

MOVES = 4
"""Steps in which the scheduler must have changed its rates."""


class SchedulerOfAnotherOptimizer(Rule):
    """Finds schedules that are applied to an optimizer nobody steps."""

    code = "OPT008"
    status = "stable"
    requires = needs_scheduler_steps

    def check(self, run: Run) -> Results:
        """Yield one finding per scheduler."""
        schedulers = run.facts.schedulers
        owners = [each.get("optimizer_index") for each in schedulers]
        updates = [e for e in run.ledger if e.op in ("step", "skip")]
        stepped = {int(entry.target.rpartition(" ")[2]) for entry in updates}
        if not stepped or stepped & set(owners):
            return
        for index in range(len(schedulers)):
            moves = _moves(run, f"scheduler {index}")
            if len(moves) < MOVES:
                continue
            later = [e for e in updates if e.step > moves[0].step]
            if len({_rates(run, e) for e in later}) == 1 and len(later) >= MOVES - 1:
                yield self._finding(run, index, moves, later)

    def _finding(
        self,
        run: Run,
        index: int,
        moves: Sequence[LedgerEntry],
        updates: Sequence[LedgerEntry],
    ) -> Finding:
        first, last = moves[0], moves[-1]
        used = updates[-1].target
        rate = next(iter(_rates(run, updates[-1])), float("nan"))
        return self.error(
            f"{at_steps(first.step, last.step)}: scheduler {index} moved its rate from "
            f"{number(first.detail['lr_before'][0])} to "
            f"{number(last.detail['lr_after'][0])}; {used} stepped at {number(rate)} "
            "all the time",
            cause="The scheduler was built for a different optimizer, which never "
            "steps: the one that trains was created later (for the adapter).",
            fix="Build the scheduler from the optimizer that is stepped.",
            places=[
                method_place(run, f"scheduler {index}", "step"),
                Place("optimizer", used),
            ],
            steps=(first.step, last.step),
            reason="owner-never-steps",
            evidence={
                "moves": len(moves),
                "threshold": MOVES,
                "rate_in_use": float(rate),
            },
            healthy="scheduler.optimizer is the optimizer that is stepped",
        )


def _moves(run: Run, target: str) -> list[LedgerEntry]:
    """Return the steps of a scheduler that changed its rates."""
    return [
        entry
        for entry in run.ledger
        if entry.op == "scheduler_step"
        and entry.target == target
        and entry.detail.get("lr_before")
        and entry.detail["lr_before"] != entry.detail.get("lr_after")
    ]


def _rates(run: Run, entry: LedgerEntry) -> tuple[float, ...]:
    """Return the rates of the optimizer that an entry is of; all are in it."""
    index = int(entry.target.rpartition(" ")[2])
    sizes = [len(each.get("groups", ())) for each in run.facts.optimizers]
    start = sum(sizes[:index])
    rates = entry.detail.get("lr", ())
    return tuple(rates[start : start + sizes[index]] if index < len(sizes) else rates)
