"""The rule OPT027, loss-maximized.

## What it does
Finds optimizers with `maximize=True` that drive a cross entropy up.

## Why is this bad?
The flag reverses each update. It is copied along with a loop from an adversarial attack
or from reinforcement learning, where a reward should grow. The loss then rises from the
first step on, and a lower learning rate only slows it: no search over the other
settings finds the cause.

## Evidence
The flag of a parameter group that holds parameters of the model, a cross entropy among
the terms of the loss, and its value per label, which is higher at the last measurement
than at the first one, of 4 at least.
- *past-guessing*: it is also above ln(classes), the loss of a model that knows nothing.
  A warning: there is nothing left to unlearn.
- *rising*: it is below. Unlearning by gradient ascent looks like this on purpose:
  reported as info.
Measured on a small Llama with LoRA, 24 steps at 2e-3: 4.85 to 5.5, where 4.85 is
ln(128); with `maximize=False` it falls.
By hand: `[group["maximize"] for group in optimizer.param_groups]`.

## What to try
1. `maximize=False`, which is the default.
2. To unlearn, stop at ln(classes), or regularize towards the old answers (KL).

## Known problems
A loss that is negated by hand before `backward()` is not detected here.

## References
- torch.optim.AdamW (`maximize`)
- Yao et al. 2023, Large Language Model Unlearning (ascent, and what it destroys)
"""

import math

from ftlab.rules.reading.groups import groups_of
from ftlab.rules.reading.loss_rows import NEEDS, LossRow, loss_rows
from ftlab.rules.reading.needs import needs_optimizers
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity
from ftlab.rules.words import at_steps, number

MEASUREMENTS = 4
"""Of the cross entropy, before its direction is told."""


class LossMaximized(Rule):
    """Finds optimizers that climb the loss."""

    code = "OPT027"
    requires = (needs_optimizers, NEEDS)

    def check(self, run: Run) -> Results:
        """Yield one finding, on the term that rises the most."""
        climbing = [
            index
            for index, group in enumerate(groups_of(run))
            if group.values.get("maximize") and group.values.get("names")
        ]
        rising = [row for row in loss_rows(run) if _rise(row) > 0]
        if climbing and rising:
            yield self._finding(run, climbing[0], max(rising, key=_rise))

    def _finding(self, run: Run, group: int, row: LossRow) -> Finding:
        losses, steps = row.columns["token_loss"], row.steps
        last, chance = float(losses[-1]), math.log(max(row.classes, 1))
        past = 0 < chance < last
        return self.finding(
            Severity.WARNING if past else Severity.INFO,
            f"{at_steps(int(steps[0]), int(steps[-1]))}: the optimizer maximizes: the "
            f"loss has risen from {number(float(losses[0]))} to {number(last)}"
            + (f"; guessing gives {number(chance)}" if past else ""),
            cause="The optimizer was created with maximize=True, which reverses each "
            "update.",
            fix="Create the optimizer with maximize=False, its default.",
            places={
                "optimizer": ["maximize", f"param_groups[{group}]"],
                "object": "loss",
            },
            steps=(int(steps[0]), int(steps[-1])),
            reason="past-guessing" if past else "rising",
            evidence={
                "first": float(losses[0]),
                "last": last,
                "guessing": chance,
                "threshold": chance,
            },
            healthy="a cross entropy that falls",
        )


def _rise(row: LossRow) -> float:
    losses = row.columns.get("token_loss", row.steps[:0])
    return float(losses[-1] - losses[0]) if len(losses) >= MEASUREMENTS else 0.0
