"""The rule OPT004, stepped-twice.

## What it does
Finds an optimizer that steps again with the same gradients as its last step, without a
backward in between.

## Why is this bad?
The same batch is applied twice: the learning rate is twice what it says, and with Adam
the second step also counts in the moments and in the bias correction. Nothing fails.
It happens where a loop and a callback (or a Trainer, or a scaler and the loop) both
step, or where `step` is called in the loop over micro-batches and backward is not.

## Evidence
`gradients_used_again`: the norm of up to 8 gradients of an optimizer that are, at its
step, the same tensors as after its last one, without a write to any of them (torch's
own count) and with no backward of the watched model in between. It is checked in steps
1 to 7 and in every 16th; found when it is above 0 in 2 checks. A step without
gradients, or with zeros, changes nothing and is ignored; so is one with a closure.
Measured: for a LoRA whose loop steps twice, every other check; in healthy loops (one or
two optimizers, a scaler, accumulation, sharpness-aware steps, LBFGS) none.
By hand: count the calls, `register_optimizer_step_pre_hook(lambda *_: print("step"))`.

## What to try
1. Step in one place: `trainer.training_step` and the Trainer's own loop, accelerate's
   wrapper and the optimizer within it are two.
2. With a GradScaler: `scaler.step(optimizer)` alone, never `optimizer.step()` besides.

## Known problems
Repeating a step on purpose is reported.

## References
- pytorch/pytorch, "Automatic Mixed Precision examples" (scaler.step calls the step)
- torch.optim.optimizer.register_optimizer_step_pre_hook
"""

from collections.abc import Iterator

import numpy as np

from ftlab.records.finding import Finding, NotChecked, Severity
from ftlab.rules.reading.method_place import method_place
from ftlab.rules.rule import Rule, needs_step_values
from ftlab.rules.words import at_steps, number
from ftlab.runlog.run import Run

COLUMN = "gradients_used_again"

LOOKS = 2
"""Looks at which the gradients must have been those of the step before."""


class SteppedTwice(Rule):
    """Finds optimizer steps without new gradients."""

    code = "OPT004"
    name = "stepped-twice"
    since = "0.1.0"
    status = "stable"
    requires = (
        needs_step_values(
            COLUMN,
            "a look at the gradients between two updates",
            "let it run for two steps",
        ),
    )

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding over all looks of the window."""
        table = run.steps
        again = table.known(COLUMN) & (np.nan_to_num(table[COLUMN]) > 0)
        if again.sum() < LOOKS:
            return
        steps, norms = table.step[again].tolist(), table[COLUMN][again].tolist()
        at = set(steps)
        targets = sorted(
            {e.target for e in run.ledger if e.op == "step" and e.step in at}
        )
        yield self.finding(
            Severity.ERROR,
            f"{at_steps(steps[0], steps[-1])}: in {len(steps)} checks {targets[0]} "
            "stepped again with the gradients of its last step, without a backward in "
            f"between (norm {number(norms[-1])})",
            cause="step() is called more than once for each backward: each batch is "
            "applied twice, and the moments count it twice.",
            fix="Call optimizer.step() (or scaler.step(optimizer)) in one place, once "
            "after backward.",
            places=[method_place(run, each, "step") for each in targets],
            steps=(steps[0], steps[-1]),
            evidence={
                "reason": "no-backward-between",
                "looks": len(steps),
                "threshold": LOOKS,
                "norm": norms[-1],
            },
            healthy="a backward between two steps of an optimizer",
        )
