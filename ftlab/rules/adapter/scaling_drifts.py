"""The rule ADP057, scaling-drifts.

## What it does
Finds adapters whose scaling is repeatedly multiplied by the same factor during
training.

## Why is this bad?
`scale_layer(c)` multiplies the current scaling, and `unscale_layer()` undoes it. Where
it is called in each step, or at each evaluation, and not undone, the adapter is c^n
times as strong after n calls: it takes over, or fades out. The weights of no step fit
the scaling of the next one, and after loading the scaling is alpha / r again.

## Evidence
`scaling` of each active LoRA pair, measured with its norms. Reported where it has
changed between 4 measurements at least, always in one direction, and each time by a
whole power of the same factor (to 1 % of its logarithm), beyond a relative 1e-3, until
the last 2 measurements at least; and where it was nowhere constant for more than 4
measurements in between. There is no threshold on how far it has come. One change, a
schedule that goes back, and one whose changes differ (a linear or cosine ramp) are left
to ADP017.
Measured with peft 0.21.2: `scale_layer(1.05)` before each step makes 2 to 5.3 in 20
steps; with `unscale_layer()` after it, it is 2 at every measurement.
By hand: print `layer.scaling` of one LoRA layer at two steps.

## What to try
1. `unscale_layer()` after the work at a different strength, in `finally`.
2. `with rescale_adapter_scale(model, 0.5):` does both.
3. `set_scale(adapter, c)` starts from alpha / r each time: it does not accumulate.

## Known problems
Annealing the strength by a constant factor on purpose is reported. Scaling is measured
every 16 steps: a drift shows after 64.

## References
- huggingface/peft: `LoraLayer.scale_layer`, `unscale_layer`,
  `peft.helpers.rescale_adapter_scale`
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.name_words import in_words
from ftlab.rules.reading.lora import may_hold_lora
from ftlab.rules.reading.tensors import records_of
from ftlab.rules.rule import Rule, needs_column
from ftlab.rules.words import at_steps, counted, number
from ftlab.runlog.run import Run

CHANGES = 4
"""Measurements between which it must have changed."""

APART = 1e-3
"""Relative change from which it is another number."""

LATELY = 2
"""Measurements within which it must have changed at last."""

LIKE = 1e-2
"""How far the logarithms of two changes may be from a whole multiple."""

Values = NDArray[np.float64]


class ScalingDrifts(Rule):
    """Finds adapters that are scaled again and again."""

    code = "ADP057"
    name = "scaling-drifts"
    since = "0.1.0"
    status = "preview"
    requires = (
        needs_column(
            "scaling",
            "the scaling of each LoRA layer",
            "watch a model with LoRA layers, with the standard probes",
            table="adapters",
        ),
    )

    def applies(self, run: Run) -> bool:
        """Tell whether there are LoRA pairs."""
        return may_hold_lora(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all pairs."""
        matrix = run.matrix("scaling", "adapters").measured()
        pairs = records_of(run, matrix.ids, "adapters")
        names, spans, ends = [], [], []
        for column, pair in enumerate(pairs):
            rows = np.flatnonzero(matrix.known[:, column])
            values = matrix.values[rows, column].astype(np.float64)
            if pair.meta.get("active", True) and _drifts(values):
                names.append(str(pair.meta.get("module", pair.name)))
                spans.append((int(matrix.steps[rows[0]]), int(matrix.steps[rows[-1]])))
                ends.append((float(values[0]), float(values[-1])))
        if not names:
            return
        (first, last), (before, now) = spans[0], ends[0]
        who = counted(len(names), "LoRA pair")
        grown = abs(now) > abs(before)
        yield self.finding(
            Severity.WARNING,
            f"{at_steps(first, last)}: the scaling of {who} went from {number(before)} "
            f"to {number(now)}, by the same factor each time: {in_words(names)}",
            cause="The scaling is multiplied in each step or at each evaluation and "
            "not restored: scale_layer without unscale_layer, or an assignment. The "
            f"adapter {'takes over' if grown else 'fades out'}.",
            fix="unscale_layer() after scale_layer(), in a finally block, or with "
            "rescale_adapter_scale(model, c): around the work at that strength.",
            places=[
                *(Place("module", name) for name in names),
                Place("config", "scaling"),
            ],
            steps=(first, last),
            evidence={
                "pairs": len(names),
                "first": before,
                "last": now,
                "threshold": CHANGES,
            },
            healthy="scaling is constant while an adapter is trained",
        )


def _drifts(values: Values) -> bool:
    """Tell whether a scaling goes by powers of one factor, in one direction."""
    if len(values) <= CHANGES or not (values * values[0] > 0).all():
        return False
    ratios = np.diff(np.log(np.abs(values)))
    rows = np.flatnonzero(np.abs(ratios) > APART)
    if len(rows) < CHANGES or len(np.unique(np.sign(ratios[rows]))) > 1:
        return False
    # it goes on, and never rested for long: not some stages of a schedule
    rests = np.diff(np.append(rows, len(ratios)))
    powers = np.abs(ratios[rows]) / np.abs(ratios[rows]).min()
    whole = np.abs(powers - powers.round()) <= LIKE * powers
    return bool(whole.all() and rests.max() <= CHANGES and rests[-1] <= LATELY)
