"""The rule NUM009, non-finite-gradients-replaced.

## What it does
Finds loops that continue with gradients that were NaN or infinite, because something
replaced the bad values (`nan_to_num`, a mask) before the update.

## Why is this bad?
Nothing stops and nothing is logged, but the model learns from made-up gradients: zeros,
or the largest number of the dtype. Whatever overflows keeps overflowing.

## Evidence
`grad_norm` as backward has left it is not finite, the update was made and not skipped,
and the losses from then on are finite: else the weights would be NaN as well. At least
3 steps and a tenth of all. ftlab reads gradients after backward from the second step
on, once it has seen that they are changed before the update.
Measured on a small Llama whose penalty has a square root of 0, `nan_to_num` in each
step: 7 of 8 norms are NaN, all losses finite. Clipping by norm spreads a NaN and
replaces none. By hand: `torch.isfinite(p.grad).all()` right after `backward()`.

## What to try
1. `ftlab.debug(...)`: it stops at the op whose backward is not finite first.
2. In fp16: a GradScaler, which skips such an update and lowers its scale.
3. For a rare bad batch: skip the whole update, and count how often.

## Known problems
A loop that skips single bad updates itself is not reported, nor is a rare repair.

## References
- torch.nan_to_num; torch.amp, "Gradient Scaling" (infs and NaNs skip the step)
- pytorch/pytorch#68425 (NaN gradients of a branch not taken)
"""

import numpy as np

from ftlab.rules.reading.scaling_history import spoiled_at
from ftlab.rules.reading.updates import may_have_gradients, skipped_steps
from ftlab.rules.rule import Results, Rule, Run, needs_step_values
from ftlab.rules.words import at_steps

TIMES, SHARE = 3, 0.1
"""Updates, and their share of all, that were made of replaced gradients."""


class NonFiniteGradientsReplaced(Rule):
    """Finds updates from gradients that were not finite before."""

    code = "NUM009"
    requires = (
        needs_step_values("grad_norm", "the gradient norm of each step", "ftlab.watch"),
        needs_step_values("loss", "the loss of each step", "call backward on the loss"),
    )
    applies = staticmethod(may_have_gradients)

    def check(self, run: Run) -> Results:
        """Yield one finding over all such steps."""
        table = run.steps
        norms, losses = table["grad_norm"], table["loss"]
        bad = table.known("grad_norm") & ~np.isfinite(norms) & ~skipped_steps(run)
        after = np.append(losses[1:], np.nan)
        replaced = bad & np.isfinite(losses) & np.isfinite(after)
        if replaced.sum() < TIMES or replaced.mean() < SHARE:
            return
        steps = table.step[replaced]
        spoiled, _ = spoiled_at(run, int(steps[-1]))
        yield self.warning(
            f"{at_steps(int(steps[0]), int(steps[-1]))}: {len(steps)} of {len(table)} "
            "updates were made although their gradients were not finite after backward",
            cause="Something replaces NaN and infinities in the gradients between "
            "backward and the update: nan_to_num, a mask, a hook.",
            fix="Fix what is not finite: ftlab.debug(...) stops at it. A GradScaler, "
            "or a check of your own, skips the whole update.",
            places={
                "call": "torch.nan_to_num",
                "param": [name.name for name in spoiled[::-1]],
            },
            steps=(int(steps[0]), int(steps[-1])),
            evidence={
                "updates": len(steps),
                "non_finite_tensors": len(spoiled),
                "threshold": TIMES,
            },
            healthy="every update uses finite gradients, as computed by backward",
        )
