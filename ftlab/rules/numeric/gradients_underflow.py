"""The rule NUM011, gradients-underflow.

## What it does
Finds gradients of which a large part was rounded to 0 in float16, because nothing, or
too little, multiplies the loss.

## Why is this bad?
Below 6e-8 a float16 gradient is 0. The small elements are lost, which are the majority
in most layers; what is left has one or two significant bits. The loss falls at first,
and stops where fp32 would go on.

## Evidence
Of a sample of each gradient, the share of exact zeros, and the share of the others that
have at most 3 significant bits (float16 keeps 11, and fewer only below 6e-5). A tensor
counts with at least 30 % of both and a root mean square that, times the loss scale, is
below 1.5e-5; the finding needs 10 % of all trained elements in such tensors, at 2
measurements in a row. Rows of tokens that were not in the batch, dead units and
dropout make zeros, but no coarse numbers beside them.
Measured on a small Llama with LoRA under fp16 autocast without a scaler: 0.6 % of zeros
at most; with the loss times 0.001 39 % in three tensors, and 99.8 % of the others
coarse; with a scale of 65536 no zeros.
By hand: `(p.grad == 0).float().mean()` with and without a scaler.

## What to try
1. `torch.amp.GradScaler`, with its default scale (65536).
2. bf16, whose smallest numbers are those of float32.
3. A scaler whose scale has fallen below 1: see NUM004 for why.

## Known problems
A gradient that is 0 throughout says nothing and is not counted. DDP over a number of
ranks that is not a power of two hides the coarse numbers.

## References
- Micikevicius et al. 2018, Mixed Precision Training (arXiv:1710.03740), loss scaling
- torch.amp, "Gradient Scaling"
"""

import numpy as np
from numpy.typing import NDArray

from ftlab.records.names import NameRecord
from ftlab.rules.reading.tensors import elements, in_a_row, records_of
from ftlab.rules.reading.update_parts import by_step
from ftlab.rules.reading.updates import may_have_gradients
from ftlab.rules.rule import Results, Rule, Run, needs_column
from ftlab.rules.words import at_steps, counted, in_words, number

TABLE = "coarse"

SHARE = 0.3
"""Share of zeros, and of coarse numbers among the others."""

WEIGHT = 0.1
"""Share of all trained elements."""

FLOOR = 2.0**-16
"""Root mean square of a gradient, as float16 had it, above which few are lost."""

POINTS = 2
"""Measurements in a row."""


class GradientsUnderflow(Rule):
    """Finds gradients that float16 has rounded to 0."""

    code = "NUM011"
    requires = needs_column(
        "coarse",
        "which elements of the gradients are zeros, or of few bits",
        table=TABLE,
    )
    applies = staticmethod(may_have_gradients)

    def check(self, run: Run) -> Results:
        """Yield one finding for all tensors."""
        zero, coarse = run.matrix("zero", TABLE), run.matrix("coarse", TABLE)
        lines = np.flatnonzero(coarse.known.any(axis=1))
        zero, coarse = zero.at(lines), coarse.at(lines)
        lost = (zero.values >= SHARE) & (coarse.values >= SHARE)
        if not lost.any():
            return
        names = _tensors(run, coarse.ids)
        lost &= _small(run, coarse.steps, names)
        sizes = elements(names)
        weights = (lost * sizes).sum(axis=1) / max(sizes.sum(), 1.0)
        points = in_a_row(weights >= WEIGHT, POINTS)
        if not points.any():
            return
        line = int(np.flatnonzero(points)[-1])
        found = [name for name, hit in zip(names, lost[line], strict=True) if hit]
        held = np.flatnonzero(weights >= WEIGHT)
        steps = int(coarse.steps[held[0]]), int(coarse.steps[held[-1]])
        scale = by_step(run, "loss_scale").get(int(coarse.steps[line]))
        told = "without a scaler" if scale is None else f"at a scale of {number(scale)}"
        yield self.warning(
            f"{at_steps(*steps)}: {number(100 * zero.values[line][lost[line]].mean())} "
            f"% of the gradient of {counted(len(found), 'tensor')} is exactly 0 "
            f"{told}, and {number(100 * coarse.values[line][lost[line]].mean())} % of "
            f"the rest has only a few bits: {in_words(name.name for name in found)}",
            cause="In float16 a gradient below 6e-8 is 0: the loss is not scaled, or "
            "not enough.",
            fix="Use torch.amp.GradScaler with its default scale, or bf16.",
            places={"call": "GradScaler.scale", "param": [name.name for name in found]},
            steps=steps,
            evidence={
                "zero_share": float(zero.values[line][lost[line]].mean()),
                "coarse_share": float(coarse.values[line][lost[line]].mean()),
                "share_of_elements": float(weights[line]),
                "threshold": SHARE,
            },
            healthy="hardly any zeros except in unused rows",
        )


def _tensors(run: Run, ids: NDArray[np.int32]) -> list[NameRecord]:
    """Return the records of the tensors that the rows are named after."""
    known = {name.name: name for name in run.names("tensors").values()}
    return [known.get(name.name, name) for name in records_of(run, ids, TABLE)]


def _small(
    run: Run, steps: NDArray[np.int64], names: list[NameRecord]
) -> NDArray[np.bool_]:
    """Mark the gradients that were near the floor of float16 when it had them."""
    matrix, scales = run.matrix("grad_l2"), by_step(run, "loss_scale")
    places = {row: column for column, row in enumerate(matrix.ids.tolist())}
    rows = {step: line for line, step in enumerate(matrix.steps.tolist())}
    small = np.zeros((len(steps), len(names)), bool)
    for line, step in enumerate(steps.tolist()):
        for column, name in enumerate(names):
            if step in rows and name.id in places:
                norm = float(matrix.values[rows[step], places[name.id]])
                mean = norm / float(elements([name])[0]) ** 0.5
                small[line, column] = mean * scales.get(step, 1.0) < FLOOR
    return small
