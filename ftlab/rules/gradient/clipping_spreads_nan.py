"""The rule GRD016, clipping-spreads-nan.

## What it does
Finds the step at which one tensor's gradient was not finite, clipping by norm spread it
to all others, and the optimizer stepped; and names the tensor.

## Why is this bad?
The norm of all gradients is NaN when one element is, and every gradient is multiplied
by limit / NaN: what was one bad tensor is now the whole model, for good. Afterwards the
weights are NaN everywhere, with no trace of where it began. An infinite norm makes all
other gradients 0.

## Evidence
The largest magnitude in each tensor's gradient, measured before clipping; the norm that
clipping found; and a step that no scaler skipped. There is no threshold: found when the
norm was not finite, at least one tensor was not and at least one other was. Where all
were broken already, clipping did no harm, and NUM001 reports it; where the gradients
were repaired after clipping, and were finite at the step, nothing is reported.
Measured on a small Llama with LoRA, one element of one gradient set to NaN: 1 of 8
tensors not finite before clipping, 8 of 8 after it.
By hand: `[n for n, p in model.named_parameters() if p.grad is not None and not
p.grad.isfinite().all()]` before `clip_grad_norm_`.

## What to try
1. `clip_grad_norm_(parameters, limit, error_if_nonfinite=True)`: it raises before it
   changes a gradient; catch it, clear the gradients, and skip the batch.
2. `ftlab.debug(...)`: it stops at the first tensor that is not finite and names the
   operation.
3. Resume from a checkpoint before this step, optimizer state included.

## Known problems
A loop that sees the norm and skips the optimizer step is not reported, as it should be;
one that steps and restores a copy of the weights afterwards is.

## References
- pytorch/pytorch#46849 (clip_grad_norm_ silently passes when not finite)
- torch.nn.utils.clip_grad_norm_, `error_if_nonfinite`
"""

import numpy as np

from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.tensors import records_of
from ftlab.rules.reading.update_parts import needs_clipping, updates_of
from ftlab.rules.rule import Finding, Results, Rule, Run, needs_column
from ftlab.rules.words import counted, listed
from ftlab.runlog.matrix import Ids


class ClippingSpreadsNan(Rule):
    """Finds the tensor from which clipping has broken all the others."""

    code = "GRD016"
    requires = (
        needs_clipping,
        needs_column("grad_max", "the largest gradient of every tensor", "ftlab.watch"),
    )

    def check(self, run: Run) -> Results:
        """Yield one finding, at the first such step."""
        for update in updates_of(run):
            broken = [entry for entry in update.clips if _is_broken(entry)]
            if broken:
                bad, sound = _sorted(run, update.step)
                if len(bad) and sound:
                    yield self._finding(run, update.step, bad, sound)
                return

    def _finding(self, run: Run, step: int, bad: Ids, sound: int) -> Finding:
        names = records_of(run, bad)
        first = listed([name.name for name in names])
        return self.error(
            f"step {step}: the gradient of {first} was not finite; clipping multiplied "
            f"{counted(sound, 'other tensor')} by the non-finite total norm, and the "
            "optimizer stepped",
            cause="clip_grad_norm_ divides by a norm that is not finite, and raises "
            "only if asked to.",
            fix="clip_grad_norm_(..., error_if_nonfinite=True), and skip the batch; "
            f"resume from a checkpoint before step {step}.",
            places={"param": [name.name for name in names], "call": "clip_grad_norm_"},
            steps=(step, step),
            reason="spread",
            evidence={"broken_before": len(bad), "sound_before": sound},
            healthy="a finite norm, or a skipped step",
        )


def _is_broken(entry: LedgerEntry) -> bool:
    norm = entry.detail.get("total_norm")
    return entry.target == "norm" and norm is not None and not np.isfinite(norm)


def _sorted(run: Run, step: int) -> tuple[Ids, int]:
    """Return the rows that were broken before clipping, and how many were not.

    None are where the gradients were written to after clipping and are finite.
    """
    before = run.matrix("grad_max", start=step, stop=step + 1)
    if not len(before.steps):
        return np.empty(0, np.int32), 0
    if "grad_l2_after" in run.columns():
        after = run.matrix("grad_l2_after", start=step, stop=step + 1)
        if after.known.any() and np.isfinite(after.values[after.known]).all():
            return np.empty(0, np.int32), 0
    has = run.matrix("has_grad", start=step, stop=step + 1)
    held = before.known[0] & (has.values[0] > 0)
    finite = np.isfinite(before.values[0])
    return before.ids[held & ~finite], int((held & finite).sum())
