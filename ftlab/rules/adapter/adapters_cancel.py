"""The rule ADP062, adapters-cancel.

## What it does
Finds adapters that are active together and undo each other: the sum of their updates is
less than half as large as the largest of them.

## Why is this bad?
What one adapter adds to a layer the other takes away. The model is nearer to its base
than with either of them alone, and both are paid for in every forward.

## Evidence
The norm of the sum of the active updates of each layer, and that of each update alone.
Reported where the median over the layers with several active adapters is at most 0.5 of
the largest update, at the last 2 measurements. Of updates that have nothing to do with
each other the sum is as large as the root of their squares, so larger than each:
measured on a tiny Llama with two adapters for 64 steps, rates of 1e-3 and 1e-2, a
median of 1.4 to 1.6 where both are trained together, and of 1.0 to 1.4 where one is
trained on top of the other; 5e-8 where one is the other with its sign turned.
By hand: `layer.get_delta_weight(a) + layer.get_delta_weight(b)`, and its norm.

## What to try
1. Activate the one that is meant: `model.set_adapter("a")`.
2. To take something away from a *merged* model, subtract it there; not beside itself.

## Known problems
Two adapters of which one is to unlearn what the other has learned look the same.

## References
- Ilharco et al. 2023, Editing Models with Task Arithmetic, arXiv:2212.04089 (negation)
- huggingface/peft, `LoraModel.add_weighted_adapter` (negative weights)
"""

from collections.abc import Sequence

import numpy as np

from ftlab.records.names import NameRecord
from ftlab.rules.reading.tensors import records_of, text_of
from ftlab.rules.rule import Finding, Results, Rule, Run, needs_if_recorded
from ftlab.rules.words import counted, in_words, number

HALF = 0.5
"""Share of the largest update, at or below which their sum is cancelled."""

LATEST = 2


class AdaptersCancel(Rule):
    """Finds active adapters that undo each other."""

    code = "ADP062"
    requires = needs_if_recorded(
        "together_l2",
        "several active LoRA adapters",
        "model.base_model.set_adapter([...])",
        "adapters",
    )

    def check(self, run: Run) -> Results:
        """Yield one finding."""
        both = run.matrix("together_l2", "adapters").measured()
        each = run.matrix("ba_l2", "adapters")
        if len(both.steps) < LATEST:
            return
        pairs = records_of(run, both.ids, "adapters")
        at = np.searchsorted(each.steps, both.steps[-LATEST:])
        sums, alone = both.values[-LATEST:], each.values[at]
        known = np.isfinite(sums).all(0)
        layers: dict[str, list[int]] = {}
        for column in np.flatnonzero(known):
            layers.setdefault(text_of(pairs[column], "module"), []).append(int(column))
        if not layers:
            return
        largest = np.stack([alone[:, columns].max(1) for columns in layers.values()])
        total = np.stack([sums[:, columns[0]] for columns in layers.values()])
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(largest > 0, total / largest, np.nan)
        if not np.isfinite(share).any(0).all():
            return
        medians = np.nanmedian(share, axis=0)
        if not bool((medians <= HALF).all()):
            return
        chosen = [pairs[column] for columns in layers.values() for column in columns]
        steps = int(both.steps[-LATEST]), int(both.steps[-1])
        yield self._finding(chosen, list(layers), steps, float(medians[-1]))

    def _finding(
        self,
        pairs: Sequence[NameRecord],
        layers: Sequence[str],
        steps: tuple[int, int],
        share: float,
    ) -> Finding:
        adapters = list(dict.fromkeys(text_of(pair, "adapter") for pair in pairs))
        return self.warning(
            f"steps {steps[0]}-{steps[1]}: adapters {' and '.join(adapters)} are "
            f"active together and undo each other: the sum of their updates is "
            f"{number(100 * share)} % of the largest one (median of "
            f"{counted(len(layers), 'layer')}): {in_words(layers)}",
            cause="One adapter is, or has become, nearly the negative of the others.",
            fix=f"Activate the one that is meant: model.set_adapter({adapters[0]!r}).",
            places={"config": "active_adapters", "module": layers},
            steps=steps,
            evidence={"share": share, "threshold": HALF, "adapters": len(adapters)},
            healthy="the sum of active updates is as large as the largest of them",
        )
