"""The rule MOD023, statistics-not-frozen.

## What it does
Finds batch norms in a frozen part of the model whose running statistics follow the
training data.

## Why is this bad?
`requires_grad=False` freezes weights. Running means and variances are not parameters:
in training mode every batch is averaged into them, and in evaluation the part gives
different features than when it was frozen. A head saved on its own, cached features,
and a second head on the same part no longer fit.

## Evidence
The running mean of each batch norm in whose surrounding module nothing requires a
gradient, in a model that trains and has no adapter: how far its channels have moved on
average since the first forward, in units of its deviation then. Read in the first 8
steps and on a schedule; from 4 such steps on. The threshold is 0.3, twice what a slight
change of the data gives: training a head on a frozen part in training mode is common,
and does no harm while the statistics stay near. Measured on a tiny ResNet whose norms
had averaged over 100 batches of noise: 0.015 at most within 40 steps on more of the
same (4 and 32 images per batch), 0.15 in 20 steps on data that are 0.3 deviations
brighter, 0.51 on data of mean 1 and deviation 2.
Parts whose weights change are ignored: they are averages of another part.
By hand: a copy of `norm.running_mean` before training, against the one after it.

## What to try
1. `part.eval()` after each `model.train()`, or a `train` method of the model that does.
2. Use a frozen norm instead: `torchvision.ops.FrozenBatchNorm2d`.
3. Save the whole state dict, buffers too, if the statistics are meant to follow.

## Known problems
Statistics that are fitted to new data on purpose (AdaBN) look the same, and are
reported: no record tells whether it is intended. Norms without a momentum
(`momentum=None`), those that share their module with something trained, and models with
adapters
(ADP044) are not judged. Neither are runs of fewer than 4 steps.

## References
- pytorch/pytorch#86590, lightly-ai/lightly#1438 (frozen, and still averaging)
- Keras, guide "Transfer learning": BatchNormalization in frozen parts
"""

from collections.abc import Sequence

import numpy as np

from ftlab.rules.reading.saving import needs_model
from ftlab.rules.reading.tensors import records_of, text_of
from ftlab.rules.rule import Finding, Results, Rule, Run
from ftlab.rules.words import at_steps, counted, in_words

SHIFT = 0.3
"""Deviations by which the means of a norm must have moved."""

STEPS = 4
"""Steps at which they must have been read: weights that move are seen by then."""


class StatisticsNotFrozen(Rule):
    """Finds frozen parts whose batch norms go on averaging."""

    code = "MOD023"
    requires = needs_model

    def check(self, run: Run) -> Results:
        """Yield one finding for all norms of frozen parts."""
        if "shifted" not in run.columns("statistics"):
            return
        shifted = run.matrix("shifted", "statistics")
        if len(shifted.steps) < STEPS:
            return
        names = records_of(run, shifted.ids, "statistics")
        moved = np.where(shifted.known, shifted.values, 0.0).max(axis=0)
        written = _written(run)
        norms = {
            name.name: float(shift)
            for name, shift in zip(names, moved, strict=True)
            if (part := text_of(name, "frozen"))
            and shift >= SHIFT
            and not any(each.startswith(f"{part}.") for each in written)
        }
        if norms:
            steps = int(shifted.steps[0]), int(shifted.steps[-1])
            yield self._finding(list(norms), max(norms.values()), steps)

    def _finding(
        self, norms: Sequence[str], shift: float, steps: tuple[int, int]
    ) -> Finding:
        return self.warning(
            f"{at_steps(*steps)}: the running statistics of "
            f"{counted(len(norms), 'batch norm')} in frozen parts follow the data, by "
            f"up to {shift:.2g} deviations: {in_words(norms)}",
            cause="requires_grad=False freezes weights, not running statistics: in "
            "training mode, which model.train() sets on all modules, each batch is "
            "averaged into them.",
            fix="Put the frozen part into evaluation mode after each model.train(): "
            "model.backbone.eval().",
            places={"module": norms, "call": "model.train"},
            steps=steps,
            evidence={"norms": len(norms), "shift": shift, "threshold": SHIFT},
            healthy="means of a frozen part stay within 0.02 deviations on similar "
            "data, and do not move in evaluation mode",
        )


def _written(run: Run) -> list[str]:
    """Name the frozen weights that have changed all the same."""
    if "delta_max" not in run.columns("frozen"):
        return []
    changed = run.matrix("delta_max", "frozen")
    names = records_of(run, changed.ids, "frozen")
    rows = np.asarray(((changed.values > 0) & changed.known).any(axis=0))
    return [name.name for name, moved in zip(names, rows, strict=True) if moved]
