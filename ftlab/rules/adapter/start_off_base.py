"""The rule ADP043, start-off-base.

## What it does
Finds layers whose fresh adapter, one factor of which is 0, changes the layer's output:
DoRA magnitudes that are not the norms of the weight, and custom layers that omit the
bias of the base.

## Why is this bad?
A fresh adapter should have no effect: the first step starts from the pretrained model.
DoRA normalises each row of the weight and multiplies it by a magnitude. If that is not
the row's norm, every row has a different length from the first step on. The model is
broken before it has learned anything, nothing is raised, and the loss may fall all the
same.

## Evidence
In the first forward of the first step: the output of each layer that has one frozen
linear layer and one trained product of low rank, against what the frozen layer gives
for the same input. A finding when one factor is exactly 0, the outputs are more than
0.02 apart (relative, above the rounding of bfloat16), and the reason is proven: the
output is at least five times nearer, and within 0.02, to the base scaled by trained
magnitude / norm of the weight, or to the base without its bias. What differs for any
other reason is not reported. Measured (a tiny Llama, DoRA by hand, magnitudes of a
layer that was drawn anew): 0.75 from the base, 1e-7 from the scaled one; PEFT's DoRA
and the same layer with its own norms: 1e-7 from the base. PEFT's DoRA, whose base is
loaded after get_peft_model: as the wrong one.
By hand: `magnitude / layer.weight.norm(dim=1)` before the first step: 1 in each row
(`dim=0` where columns are normalised).

## What to try
1. Compute the magnitudes from the pretrained weight: `layer.weight.norm(dim=1)`.
2. Load the base's weights before get_peft_model, not after.
3. Compare once: outputs with the adapter and without, before the first step.

## Known problems
Magnitudes that were trained while the factors stayed at 0 look the same. Quantised
bases, convolutions, embeddings and compiled layers are not checked.

## References
- ml-explore/mlx-examples#832 (magnitudes of a layer without the pretrained weight)
- Liu et al. 2024, DoRA, arXiv:2402.09353, section 4.1 (m starts as the norm)
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ftlab.records.names import NameRecord
from ftlab.rules.reading.tensors import records_of, text_of
from ftlab.rules.rule import Finding, Need, Results, Rule, Run
from ftlab.rules.words import counted, in_words, number

APART = 0.02
"""Relative distance above which outputs are others; bfloat16 rounds to 0.004."""

NEARER = 5.0
"""How many times nearer the output must be to what explains it."""


class StartOffBase(Rule):
    """Finds fresh adapters that change what their layer gives."""

    code = "ADP043"
    caused_by = ("EXP013",)
    status = "stable"
    requires = Need(
        "the first forward of the first step",
        "watch the training from its first step on, with the standard probes",
        lambda run: "off_base" in run.columns("starts"),
    )

    def applies(self, run: Run) -> bool:
        """Tell whether layers were compared, or nothing is known yet."""
        return bool(run.names("starts")) or not len(run.steps)

    def check(self, run: Run) -> Results:
        """Yield one finding for each reason."""
        off = run.matrix("off_base", "starts")
        if not len(off.steps):
            return
        names = records_of(run, off.ids, "starts")
        first = {c: run.matrix(c, "starts").values[0].astype(float) for c in _COLUMNS}
        fresh = (first["factor"] == 0) & (first["off_base"] > APART)
        for reason, column in _REASONS.items():
            chosen = np.flatnonzero(fresh & _explains(first, column))
            if len(chosen):
                found = [names[index] for index in chosen]
                values = {c: float(first[c][chosen[0]]) for c in _COLUMNS}
                yield self._finding(reason, found, values, column)

    def _finding(
        self,
        reason: str,
        found: Sequence[NameRecord],
        first: dict[str, float],
        column: str,
    ) -> Finding:
        scaled = reason == "magnitude"
        modules = [name.name for name in found]
        vectors = [
            v for name in found for v in text_of(name, "vectors").split(",") if v
        ]
        ratio = f" (on average {number(first['magnitude'])} of it)" if scaled else ""
        return self.warning(
            f"step 0: {counted(len(found), 'layer')} with a fresh adapter "
            f"{'differ' if len(found) > 1 else 'differs'} from the base layer, output "
            f"off by {number(first['off_base'])}: {in_words(modules)}",
            cause=f"The trained magnitudes are not the norms of the weight{ratio}: "
            "they were not computed from the pretrained weights."
            if scaled
            else "The output is that of the frozen weight without its bias.",
            fix="magnitude = base.weight.norm(dim=1), from the pretrained weight."
            if scaled
            else "Call the frozen layer (base(x)), or add its bias.",
            places={"module": modules, "param": [name for name in vectors if scaled]},
            steps=(0, 0),
            reason=reason,
            evidence={
                "off_base": first["off_base"],
                "off_explained": first[column],
                "threshold": APART,
            },
            healthy="a fresh adapter gives what the layer under it gives",
        )


_COLUMNS = ("factor", "off_base", "off_scaled", "off_biasless", "magnitude")

_REASONS = {"magnitude": "off_scaled", "no-bias": "off_biasless"}
"""What explains an output, by the column that tells how well."""


def _explains(first: dict[str, NDArray[np.float64]], column: str) -> NDArray[np.bool_]:
    """Mark the layers whose output is what this reason makes of the base."""
    with np.errstate(invalid="ignore"):
        near = first[column] * NEARER <= first["off_base"]
        return np.asarray(near & (first[column] <= APART), bool)
