"""The rule OPT013, rate-too-low.

## What it does
Finds adapters that will hardly have changed the model when the run is over: everything
moves, but far too little.

## Why is this bad?
LoRA needs ten to a hundred times the rate of full fine-tuning, as B begins at 0. At
1e-7 all is wired correctly, gradients arrive, weights move, no check fails, and after
the planned number of steps B A is a hundred-thousandth of the weight that it is added
to. The run is paid for, and the model is the one it was.

## Evidence
The largest `ratio` of all pairs: the norm of scaling x B A against that of the base
weight, over 16 effective updates at least. B grows at most in proportion to the sum of
the rates: what it has reached is projected to the whole run by the sums of the rates so
far and of those planned (`max_steps` and the schedule's formula; without one the rate
in use goes on).
- *planned*: the run's length is known, and the projection is below 1e-3. A warning.
- *so-far*: the length of the run is not known, and it is below 1e-4 now. Reported as
  info: the same numbers, at the same step, are those of a long run that learns slowly.
Pairs that were trained before are never that small. Measured on a small Llama, AdamW:
3e-5 after 30 updates at 1e-7, 2.2e-4 after 200; 3.3e-4 and 2.2e-3 at 1e-6. What it
comes to: a ratio of 1.3e-3 (24 updates at 5e-6) took 0.0003 off a loss of 4.855, one of
2.7e-2 (at 1e-4) 0.005, and one of 0.27 (200 updates) 0.065.
By hand: `layer.get_delta_weight("default").norm() / layer.base_layer.weight.norm()`.

## What to try
1. 1e-4 to 3e-4 for LoRA with AdamW; ten times what full fine-tuning would take.
2. `learning_rate` that was read from a file: is its exponent what it should be?
3. If the rate is low on purpose: tell ftlab the length of the run, `max_steps` in
   `args`.

## Known problems
A custom loop would have to be judged by its length, which is not known while it runs.
Methods other than LoRA, and full fine-tuning, are not judged.

## References
- huggingface/diffusers#6288 (a LoRA at 1e-6 that learns nothing, and does at 1e-4)
- Schulman et al. 2025, LoRA Without Regret (ten times the rate of full fine-tuning)
"""

import numpy as np
from numpy.typing import NDArray

from ftlab.records.finding import Finding, Severity
from ftlab.rules.reading.needs import needs_rates
from ftlab.rules.reading.schedules import per_update, plans_of, run_length
from ftlab.rules.reading.updates import effective
from ftlab.rules.rule import Results, Rule, Run, needs_column, to_runs_with
from ftlab.rules.words import at_steps, number

SMALL, AT_THE_END = 1e-4, 1e-3
"""Of the base weight's norm: what an adapter exceeds now, and when the run is over."""

UPDATES = 16
"""Effective updates before anything is projected."""


class RateTooLow(Rule):
    """Finds learning rates at which an adapter stays without effect."""

    code = "OPT013"
    requires = (
        needs_column(
            "ratio", "the size of B A against the base weight", table="adapters"
        ),
        needs_rates,
    )
    applies = to_runs_with(lambda run: "adapters" in run.tables())

    def check(self, run: Run) -> Results:
        """Yield one finding over all pairs."""
        ratio = run.matrix("ratio", "adapters")
        known = np.flatnonzero(ratio.known.any(axis=1))
        updates = effective(run)
        made = updates.mask.any(axis=1) & (updates.step < _last(ratio.steps[known]))
        if len(known) < 2 or made.sum() < UPDATES:
            return
        shares = np.nan_to_num(ratio.values, nan=0.0)
        now, begun = (float(shares[known[at]].max()) for at in (-1, 0))
        if not begun <= now or not 0 < now < AT_THE_END:
            return
        rates = np.nan_to_num(updates.lr[made]).max(axis=1)
        planned = _planned(run, float(rates[-1]))
        end = now * max(1.0, planned / rates.sum()) if planned else now
        if end < (AT_THE_END if planned else SMALL):
            yield self._finding(run, float(rates.max()), now, end, planned > 0)

    def _finding(
        self, run: Run, rate: float, now: float, end: float, planned: bool
    ) -> Finding:
        steps = int(run.steps.step[0]), run.last_step
        later = f", and {number(end)} of it at the end of the run" if planned else ""
        return self.finding(
            Severity.WARNING if planned else Severity.INFO,
            f"{at_steps(*steps)}: at a learning rate of {number(rate)} the largest B A "
            f"is {number(now)} of its base weight{later}",
            cause="The learning rate is too low for an adapter in this number of "
            "steps, as rates for full fine-tuning are."
            if planned
            else "The learning rate is very low. In a run of this length the adapter "
            "has no effect; in one a hundred times as long it may.",
            fix="Use 1e-4 to 3e-4 for LoRA with AdamW.",
            places={"optimizer": "lr"},
            steps=steps,
            reason="planned" if planned else "so-far",
            evidence={
                "ratio": now,
                "projected": end,
                "rate": rate,
                "threshold": AT_THE_END if planned else SMALL,
            },
            healthy="B A is 0.001 of the base weight or more at the end",
        )


def _last(steps: NDArray[np.int64]) -> int:
    return int(steps[-1]) if len(steps) else -1


def _planned(run: Run, rate: float) -> float:
    """Return the sum of the rates of the whole run; 0 where its length is not known."""
    length = run_length(run)
    if not length:
        return 0.0
    plans = plans_of(run)
    each = max(1, round(per_update(run, plans[0]))) if plans else 1
    rates = plans[0].rates(length * each) if len(plans) == 1 else None
    if rates is None:
        return rate * length
    return float(np.nan_to_num(rates[::each]).max(axis=1).sum())
