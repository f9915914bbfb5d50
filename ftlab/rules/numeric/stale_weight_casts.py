"""The rule NUM010, stale-weight-casts.

## What it does
Finds training forwards that compute with weight casts from before the last update,
because an autocast context was not left in between.

## Why is this bad?
autocast casts a float32 weight once and keeps the cast until its outermost context is
left. A loop within one `with torch.autocast(...)` runs forward and backward with the
weights of its first step: the optimizer updates weights that nothing reads. An outer
context that is switched off (`enabled=False`) keeps them as well.

## Evidence
`stale`, for up to eight linear layers: within a context that was open at the update and
was not left until the next training forward, what the layer gives for ones differs from
what a fresh cast of its weight gives. There is no threshold: the two are computed by
the same operation and must be equal. Only float32 weights that are trained are kept.
Measured on a small Llama with LoRA in float32 under bf16 autocast: within one context
over three updates all eight layers are stale from the second forward on; with a context
for each iteration, update included, none is.
By hand: `torch.clear_autocast_cache()` after `optimizer.step()` changes the next loss.

## What to try
1. `with torch.autocast(...)` only around the forward and the loss.
2. `torch.autocast(..., cache_enabled=False)`, or `torch.clear_autocast_cache()` after
   each update, where the context must stay.

## Known problems
Weights that only custom operations use are not compared.

## References
- torch.amp.autocast, `cache_enabled`; `torch/amp/autocast_mode.py`, `__exit__`
- X-GenGroup/Flow-Factory#186 (a flat loss under one outer context)
- pytorch/pytorch#63552
"""

import numpy as np

from ftlab.rules.reading.tensors import records_of
from ftlab.rules.rule import Results, Rule, Run, needs_step_values
from ftlab.rules.words import at_steps, counted, in_words

TABLE = "casts"


class StaleWeightCasts(Rule):
    """Finds forwards with weights from before the last update."""

    code = "NUM010"
    requires = needs_step_values("loss", "the loss of each step", "ftlab.watch(...)")

    def check(self, run: Run) -> Results:
        """Yield one finding for all weights that were compared."""
        if "stale" not in run.columns(TABLE):
            return
        matrix = run.matrix("stale", TABLE).measured()
        stale = matrix.known & (matrix.values > 0)
        if not stale.any():
            return
        names = records_of(run, matrix.ids[stale.any(axis=0)], TABLE)
        steps = matrix.steps[np.flatnonzero(stale.any(axis=1))]
        first, last = int(steps[0]), int(steps[-1])
        yield self.error(
            f"{at_steps(first, last)}: the forward computed with weights from before "
            f"the last update in {counted(len(names), 'layer')} of {len(matrix.ids)} "
            f"that were compared: {in_words(name.name for name in names)}",
            cause="optimizer.step() and the next forward are within one autocast "
            "context, which caches the casts of float32 weights until it is left.",
            fix="Put torch.autocast only around forward and loss, or pass "
            "cache_enabled=False.",
            places={"call": "torch.autocast", "param": [name.name for name in names]},
            steps=(first, last),
            evidence={"stale": len(names), "compared": len(matrix.ids), "threshold": 0},
            healthy="autocast is left, or its cache cleared, between update and "
            "forward",
        )
