"""The rule GRD005, gradients-carried-over.

## What it does
Finds loops in which nothing clears the gradients between two updates, so that each
update uses the sum of all gradients so far.

## Why is this bad?
Backward adds to what is in `.grad`. Without `zero_grad` the update follows the mean of
the whole run and not the batch: the loss falls at first, then swings or climbs, and the
gradient norm grows with the step. A smaller learning rate seems to help and does not.

## Evidence
`gradients_carried`: the norm of up to 8 gradients of the optimizer that were still in
place, the very same tensors, when backward began after its last update; the smallest of
all backwards until the next one. It is checked in steps 1 to 7 and in every 16th. It is
0 where `zero_grad` was called, where `.grad` was set to `None` or replaced, written to
by hand, or holds zeros, whoever put them there. Found when it is above 0 in 3 checks in
a row: a loop that clears only after an evaluation or an epoch is just as wrong. Legal,
and therefore not reported: accumulation (nothing is stepped in between), `p.grad =
None`, `p.grad.zero_()` and `p.grad.data.zero_()` by hand, optimizers that clear in
their own step or within backward, a closure, two optimizers in turn.
Measured on a small Llama with LoRA and SGD (lr 0.05), steps 1 to 7: without zero_grad
it grew from 0.35 to 1.04, and the norm of all gradients from 0.41 to 1.54 (with it 0.28
to 0.46); with it, and in each of the forms above, it was 0.
By hand, right before `loss.backward()`: `[n for n, p in model.named_parameters() if
p.grad is not None and p.grad.any()]` must be empty.

## What to try
1. `optimizer.zero_grad()` once per update: before the forward, or right after
   `optimizer.step()`.
2. With accumulation, clear where the optimizer is stepped, and step only there.
3. Several optimizers: each clears its own, or `model.zero_grad()` clears all.

## Known problems
A gradient that is multiplied by a factor by hand instead of being cleared (custom
momentum) is taken as intended. Sharded gradients are not checked.

## References
- stackoverflow.com/q/60335387 (TrainCheck SO-60335387)
- torch.optim.Optimizer.zero_grad
"""

from collections.abc import Iterator

import numpy as np

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.rules.reading.method_place import method_place
from ftlab.rules.reading.tensors import group_of, params
from ftlab.rules.rule import Rule, needs_step_values
from ftlab.rules.words import at_steps, number
from ftlab.runlog.run import Run

COLUMN = "gradients_carried"

LOOKS = 3
"""Looks in a row at which gradients must have been carried over."""


class GradientsCarriedOver(Rule):
    """Finds updates that are made from the gradients of earlier ones as well."""

    code = "GRD005"
    name = "gradients-carried-over"
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
        known = table.known(COLUMN)
        steps, norms = table.step[known], table[COLUMN][known]
        carried = norms > 0
        clean = np.flatnonzero(~carried)
        since = int(clean[-1]) + 1 if len(clean) else 0
        if len(norms) - since < LOOKS:
            return
        yield self._finding(run, steps[since:].tolist(), norms[since:].tolist())

    def _finding(self, run: Run, steps: list[int], norms: list[float]) -> Finding:
        optimizers = sorted({e.target for e in run.ledger if e.op == "step"})
        held = [name for name in run.names().values() if group_of(name) >= 0]
        return self.finding(
            Severity.ERROR,
            f"{at_steps(steps[0], steps[-1])}: in each of {len(steps)} checks the "
            "gradients of earlier updates were still there when backward began, norm "
            f"{number(norms[0])}, then {number(norms[-1])}: each update uses the sum "
            "of all so far",
            cause="Nothing clears the gradients between two updates: zero_grad is "
            "missing, or is not called on the trained parameters.",
            fix="Call optimizer.zero_grad() once per update, before the forward or "
            "right after optimizer.step().",
            places=[
                Place("call", "optimizer.zero_grad"),
                *(method_place(run, each, "step") for each in optimizers),
                *params(held),
            ],
            steps=(steps[0], steps[-1]),
            evidence={
                "reason": "not-cleared",
                "looks": len(steps),
                "threshold": LOOKS,
                "norm_first": norms[0],
                "norm_last": norms[-1],
            },
            healthy=".grad is None or zero when the backward of a new update begins",
        )
