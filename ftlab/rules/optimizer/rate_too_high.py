"""The rule OPT014, rate-too-high.

## What it does
Finds learning rates whose first updates are as large as the weights themselves, where
the loss rises well above its first value.

## Why is this bad?
Adam's first update moves every element by the learning rate, whatever the gradient is.
A rate that is right for SGD (0.1, 1.0), or a wrong exponent, replaces the weights by
the signs of one batch's gradients: pretraining is gone after one step, and the loss
settles above where it began.

## Evidence
For each tensor that did not begin at 0, the largest of its first measured updates (the
first three, and more if the loss rises later) against its weight, as L2 norms of both.
Found when that is 1 or more for half of them at least, and the loss is 1.2 times its
first value or more in 3 updates in a row; or 0.5 or more, and 16 updates in a row, as a
warm-up makes the first updates smaller.
One of the two alone is no evidence: soft prompts and LBFGS make such updates and learn,
and a loss that rises has other causes too. B of LoRA begins at 0 and is left out.
Measured over the gallery: 0.0001 to 0.5 in healthy runs at rates from 1e-7 to 2e-2 (and
13.7 under LBFGS, whose loss falls from 11.1 to 0.2), and no healthy run with 16 losses
above 1.2 times the first that had updates above 0.01; 50 for AdamW at 1.0, with a loss
of 4.8 before and up to 160 behind it. QLoRA at 0.2 with 5 steps of warm-up, 3 seeds:
0.997 to 1.0, and a loss that rises from 3 to 6 and ends at 4.6.
By hand: `w = p.detach().clone(); optimizer.step(); (p - w).norm() / w.norm()`.

## What to try
1. 1e-4 to 3e-4 for LoRA with AdamW, 1e-5 to 5e-5 for full fine-tuning.
2. A warm-up, and clipping, against occasional steps that are too large.
3. Restart from the original weights: these do not recover.

## Known problems
A run that is watched only from the middle has no first updates. A rate that is only
somewhat too high, so that the loss falls but is noisy, is not found.

## References
- Kingma and Ba 2015, Adam, section 2.1 (the step is bounded by the rate)
- Karpathy's rule of thumb: update / weight around 1e-3
"""

import numpy as np
from numpy.typing import NDArray

from ftlab.rules.reading.needs import needs_losses
from ftlab.rules.reading.tensors import in_a_row, records_of
from ftlab.rules.reading.updates import skipped_steps
from ftlab.rules.rule import Finding, Results, Rule, Run, needs_column
from ftlab.rules.words import at_steps, counted, number

RISE = 1.2
"""Times the first loss."""

FIRST = 3
"""Measured updates that are looked at in any case."""

WAYS = ((1.0, 3), (0.5, 16))
"""Update against weight, and the updates in a row for which the loss is above."""

HALF = 0.5
"""Share of the tensors that must have moved that far."""


class RateTooHigh(Rule):
    """Finds learning rates that overwrite the weights."""

    code = "OPT014"
    requires = (
        needs_column(
            "update_l2",
            "how far each update moved each tensor",
            "ftlab.watch(...) with its standard probes, from the first step on",
        ),
        needs_losses,
    )

    def check(self, run: Run) -> Results:
        """Yield one finding, where the loss rises after such updates."""
        kept = ~skipped_steps(run)
        loss, steps = run.steps["loss"][kept], run.steps.step[kept]
        if not len(loss) or not loss[0] > 0:
            return
        high = ~(loss < RISE * loss[0])  # NaN has left it too
        for threshold, streak in WAYS:
            ends = np.flatnonzero(in_a_row(high, streak))
            if not len(ends):
                return
            first = int(steps[ends[0] - streak + 1])
            ids, ratios = _first_ratios(run, first)
            if len(ratios) and (ratios >= threshold).mean() >= HALF:
                ids = ids[np.argsort(-ratios)]
                yield self._finding(run, ids, ratios, loss, first, threshold)
                return

    def _finding(
        self,
        run: Run,
        ids: NDArray[np.int32],
        ratios: NDArray[np.float64],
        loss: NDArray[np.float64],
        first: int,
        threshold: float,
    ) -> Finding:
        rate = float(np.nanmax(run.steps["lr"][0], initial=0.0))
        peak = float(np.nanmax(loss))
        steps = first, run.last_step
        return self.error(
            f"{at_steps(*steps)}: the first updates were {number(np.median(ratios))} "
            f"times as large as the weights, in {counted(len(ratios), 'tensor')}; loss "
            f"{number(loss[0])} -> {number(peak)}",
            cause="The learning rate is too high"
            + (f": it was {number(rate)} at the first step." if rate else "."),
            fix="Restart with 1e-4 to 3e-4 for LoRA, 1e-5 to 5e-5 for full "
            "fine-tuning.",
            places={
                "optimizer": "lr",
                "param": [name.name for name in records_of(run, ids)],
            },
            steps=steps,
            evidence={
                "ratio": float(np.median(ratios)),
                "threshold": threshold,
                "tensors": len(ratios),
                "loss_before": float(loss[0]),
                "loss": peak,
            },
            healthy="an update of 0.0001 to 0.1 of the weight",
        )


def _first_ratios(
    run: Run, until: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return tensors that did not begin at 0, and how far they moved up to a step."""
    update, weight = run.matrix("update_l2"), run.matrix("weight_l2")
    columns = {row: i for i, row in enumerate(weight.ids.tolist())}
    lines = {step: i for i, step in enumerate(weight.steps.tolist())}
    ids, ratios = [], []
    for column, row in enumerate(update.ids.tolist()):
        seen = np.flatnonzero(update.known[:, column])
        seen = seen[: max(FIRST, int((update.steps[seen] <= until).sum()))]
        pairs = [
            (update.values[line, column], weight.values[lines[step], columns[row]])
            for line, step in zip(seen, update.steps[seen].tolist(), strict=True)
            if step in lines and row in columns
        ]
        moved = [now / before for now, before in pairs if before > 0]
        if len(moved) == len(pairs) > 0:
            ids.append(row)
            ratios.append(float(np.nan_to_num(max(moved), nan=np.inf)))
    return np.asarray(ids, np.int32), np.asarray(ratios)
