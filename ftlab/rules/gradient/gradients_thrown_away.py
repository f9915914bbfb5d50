"""The rule GRD006, gradients-thrown-away.

## What it does
Finds loops that clear gradients between the backwards of one update, so that only the
last micro-batch counts.

## Why is this bad?
Accumulation is paid for and does not happen: of K micro-batches K - 1 are computed and
thrown away, and what is left was usually divided by K. The run is as noisy as with the
small batch and learns K times more slowly; nothing fails.

## Evidence
`gradients_thrown_away`: the backwards of a step after which `zero_grad` was called
before any optimizer stepped, while another backward followed. It is checked in steps 0
to 7 and in every 16th, and found in 3 checks in a row, in runs with one optimizer. Some
methods do so on purpose, and count as 0: those that move the weights between two
backwards (sharpness-aware steps; up to 64 elements of 8 weights are compared), those
that write to the gradients after the last backward (projected gradients of several
tasks), a closure, and backwards that another model's optimizer steps after.
Measured on a small Llama with 4 micro-batches per step: 3 in each step with zero_grad
inside of the loop (norm of the gradient 0.09), 0 with it outside (0.26). With
sharpness-aware steps and with LBFGS the rule is quiet.
By hand: print a line at each `zero_grad`, `backward` and `step`, and read the order.

## What to try
1. Move `zero_grad` out of the loop over micro-batches: right after `optimizer.step()`.
2. With accelerate use the *prepared* optimizer within `accelerator.accumulate(model)`:
   its zero_grad waits, that of the unprepared one does not. Call it after `step()`: at
   the beginning of the block it clears what was accumulated, at the last micro-batch.

## Known problems
Backward passes that are run only to look at their gradients (a gradient-noise estimate
at each step) are counted.

## References
- accelerate, "Performing gradient accumulation"
- starVLA/starVLA#395 (zero_grad at the beginning of accumulate())
- huggingface/accelerate#1299 (zero_grad at the start of each micro-batch)
"""

from collections.abc import Iterator

import numpy as np

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.rules.rule import Rule, needs_step_values
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

COLUMN = "gradients_thrown_away"

LOOKS = 3
"""Looks in a row at which gradients must have been thrown away."""


class GradientsThrownAway(Rule):
    """Finds backwards whose gradients no update uses."""

    code = "GRD006"
    name = "gradients-thrown-away"
    since = "0.1.0"
    status = "stable"
    requires = (
        needs_step_values(
            COLUMN,
            "a look at what is cleared between two backwards",
            "let it run for a step",
        ),
    )

    def applies(self, run: Run) -> bool:
        """Leave out runs none of whose updates had gradients of their own backward."""
        return not len(run.steps) or COLUMN in run.steps.columns

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding over the looks of the window."""
        if len(run.facts.optimizers) > 1:  # what one clears may be the other one's
            return
        table = run.steps
        known = table.known(COLUMN)
        steps, thrown = table.step[known], table[COLUMN][known]
        clean = np.flatnonzero(thrown == 0)
        since = int(clean[-1]) + 1 if len(clean) else 0
        if len(thrown) - since >= LOOKS:
            yield self._finding(steps[since:].tolist(), thrown[since:].tolist())

    def _finding(self, steps: list[int], thrown: list[float]) -> Finding:
        count = int(min(thrown))
        return self.finding(
            Severity.ERROR,
            f"{at_steps(steps[0], steps[-1])}: the gradients of {count} of {count + 1} "
            "backwards of each update were cleared by zero_grad before anything used "
            "them; only the last micro-batch is learned from",
            cause="zero_grad is called in the loop over micro-batches, between the "
            "backwards of one optimizer step.",
            fix="Call zero_grad once per update, right after optimizer.step(); with "
            "accelerator.accumulate, use the prepared optimizer.",
            places=[
                Place("call", "optimizer.zero_grad"),
                Place("call", "loss.backward"),
            ],
            steps=(steps[0], steps[-1]),
            evidence={
                "reason": "cleared-while-accumulating",
                "thrown_away": count,
                "looks": len(steps),
                "threshold": LOOKS,
            },
            healthy="each backward is used by an update before gradients are cleared",
        )
