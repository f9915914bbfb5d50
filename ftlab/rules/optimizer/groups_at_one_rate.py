"""The rule OPT019, groups-at-one-rate.

## What it does
Finds groups that were created with different learning rates but set to the same rate by
hand.

## Why is this bad?
`for group in optimizer.param_groups: group["lr"] = lr` gives the pretrained part the
rate of the new head. The groups still exist, the optimizer was built as the paper says,
but the features are lost in the first updates.

## Evidence
The rates that the groups were created with, all above 0 and not all equal, against
those of the updates: in 3 of them in a row all groups have one rate, which is above the
smallest initial rate of a group, and no scheduler is known or has been stepped.
- *never-used*: it is so from the first update on: a warning.
- *given-up*: the groups had rates of their own before. That may be an intentional
  second stage, and is reported as info.
A common rate below the smallest initial one may be a floor that all reach, and is not
reported.
By hand: `[g["lr"] for g in optimizer.param_groups]` before the loop and in it.

## What to try
1. Keep `base = [g["lr"] for g in optimizer.param_groups]`, and write `base[k] * factor`
   into group k.
2. LambdaLR(optimizer, factor) does this.

## Known problems
A learning-rate range test gives all groups one rate on purpose. A scheduler that is not
passed to ftlab, and that sets one rate (OneCycleLR with a single `max_lr`), is reported
as if the rate were set by hand: for the groups it is the same.

## References
- torch.optim.Optimizer (per-parameter options)
- JUGGHM/PENet_ICRA2021#29 (`adjust_learning_rate` writes one rate into all groups)
"""

import numpy as np

from ftlab.records.rate_formulas import Rates
from ftlab.rules.reading.needs import needs_optimizers, needs_rates
from ftlab.rules.reading.saving import first_facts
from ftlab.rules.rule import Results, Rule, Run, Severity
from ftlab.rules.words import at_steps, number

UPDATES = 3
"""Updates in a row at one rate."""

SAME = 1e-6
"""Relative distance of rates that are one."""

APART = 0.01
"""Relative distance from which on rates were meant to differ."""


class GroupsAtOneRate(Rule):
    """Finds groups whose different rates are not kept."""

    code = "OPT019"
    requires = (needs_rates, needs_optimizers)

    def check(self, run: Run) -> Results:
        """Yield one finding per optimizer whose groups are made equal."""
        if run.facts.schedulers or any(e.op == "scheduler_step" for e in run.ledger):
            return
        begin = 0
        for index, facts in enumerate(first_facts(run).optimizers):
            made = [float(g.get("lr") or 0.0) for g in facts.get("groups") or ()]
            columns = slice(begin, begin + len(made))
            begin += len(made)
            rates = run.steps["lr"][:, columns]
            apart = made and 0 < min(made) < (1 - APART) * max(made)
            if apart and rates.shape[1] == len(made):
                yield from self._of(run, index, made, rates)

    def _of(self, run: Run, index: int, made: list[float], rates: Rates) -> Results:
        low, high = rates.min(axis=1), rates.max(axis=1)
        raised = low > (1 + SAME) * min(made)
        flat = (high - low <= SAME * high) & raised
        end = np.flatnonzero(np.convolve(flat, np.ones(UPDATES), "valid") == UPDATES)
        if not len(end):
            return
        first = int(end[0])
        own = (low[:first] > 0) & ~(high[:first] - low[:first] <= SAME * high[:first])
        used = bool(own.any())
        steps = run.steps.step
        span = int(steps[first]), int(steps[first + UPDATES - 1])
        least = made.index(min(made))
        yield self.finding(
            Severity.INFO if used else Severity.WARNING,
            f"{at_steps(*span)}: all {len(made)} groups of optimizer {index} have a "
            f"learning rate of {number(float(high[first]))}; they were created with "
            f"{number(min(made))} to {number(max(made))}",
            cause="The same rate is written into all of optimizer.param_groups.",
            fix="Multiply the initial rate of each group by a factor.",
            places={"optimizer": ["lr", f"param_groups[{least}]"]},
            steps=span,
            reason="given-up" if used else "never-used",
            evidence={"groups": len(made), "threshold": UPDATES},
            healthy="rates that keep their initial ratio",
        )
