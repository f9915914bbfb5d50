"""The rule OPT025, moment-overflowed.

## What it does
Finds optimizer moments that are infinite though every gradient was finite.

## Why is this bad?
The second moment holds squares: in fp16 a gradient of 8,100 makes one of more than
65,504 in its first step (0.001 x gradient squared), in float32 one above 1.8e19
overflows. What Adam divides by infinity is 0, and an average never recovers from it:
these weights, the ones with the largest gradients, never move again. The loss keeps
falling through the others.

## Evidence
`moment2_max`, the largest element of a second moment, or `moment1_l2`, the norm of a
first one, is infinite: reasons `second-moment` and `first-moment`. Up to that step no
gradient of the tensor was infinite or NaN (`grad_max`): where one was, the gradient is
the problem.
Measured on a small Llama in pure fp16 whose loss is scaled by 2^16 and never unscaled:
gradients of 10^4, and 2 to 9 infinite elements after 1 to 4 steps; with the loss as it
is the largest second moment is 8e-4. In 155 healthy runs of the gallery the largest is
0.04.
By hand: `[s["exp_avg_sq"].isinf().sum() for s in optimizer.state.values()]`.

## What to try
1. Unscale before the step: `scaler.step(optimizer)`, or divide the gradients.
2. Keep trained weights, and so the moments, in float32, and compute under autocast.
3. The infinite elements remain: clear the optimizer's state, or load an older one.

## Known problems
The 8-bit states of bitsandbytes are not read. A norm of first moments in float32 above
3e38 is taken for an overflow.

## Known myths
"Moments that leave three standard deviations of their recent values, or that grow by
more than 15 % five times in a row, are drifting." Of 155 healthy runs of the gallery
with second moments 153 do the one and 151 the other: a second moment grows for its
first thousand steps, and follows gradients that change.

## References
- Micikevicius et al. 2018, Mixed precision training (arXiv:1710.03740)
- torch, `torch.optim.Adam`: `exp_avg_sq.mul_(beta2).addcmul_(grad, grad, ...)`
"""

import numpy as np
from numpy.typing import NDArray

from ftlab.rules.reading.tensors import records_of
from ftlab.rules.rule import Finding, Results, Rule, Run, needs_if_recorded
from ftlab.rules.words import at_steps, counted, in_words

_MOMENTS = {"moment2_max": "exp_avg_sq", "moment1_l2": "exp_avg"}


class MomentOverflowed(Rule):
    """Finds infinite moments of finite gradients."""

    code = "OPT025"
    status = "stable"
    requires = needs_if_recorded(
        "moment1_l2",
        "the optimizer's moments",
        "ftlab.watch(model, optimizer) with the standard probes",
    )
    caused_by = ("NUM001",)

    def check(self, run: Run) -> Results:
        """Yield one finding for each of the two moments."""
        for column, key in _MOMENTS.items():
            matrix = run.matrix(column).measured()
            infinite = np.isinf(matrix.values)
            ill = infinite.any(axis=0)
            if not ill.any():
                continue
            first = matrix.steps[infinite.argmax(axis=0)]
            ill &= ~_gradient_was(run, matrix.ids, first)
            if ill.any():
                lines = np.flatnonzero(infinite[:, ill].any(axis=1))
                steps = int(matrix.steps[lines[0]]), int(matrix.steps[lines[-1]])
                yield self._finding(run, matrix.ids[ill], key, steps)
                return

    def _finding(
        self, run: Run, ids: NDArray[np.int32], key: str, steps: tuple[int, int]
    ) -> Finding:
        found = records_of(run, ids)
        dtypes = " and ".join(sorted({name.dtype for name in found}))
        return self.error(
            f"{at_steps(*steps)}: {key} of {counted(len(found), 'tensor')} is "
            "infinite, though no gradient was: "
            f"{in_words(name.name for name in found)}",
            cause=f"The moments of {dtypes} weights cannot hold the squares of their "
            "gradients: dividing by infinity makes the updates 0, for good.",
            fix="Unscale the gradients before the step, and keep trained weights in "
            "float32.",
            places={"optimizer": key, "param": [name.name for name in found]},
            steps=steps,
            reason="second-moment" if key == "exp_avg_sq" else "first-moment",
            evidence={"tensors": len(found), "threshold": "infinity", "dtype": dtypes},
            healthy="all moments are finite",
        )


def _gradient_was(
    run: Run, ids: NDArray[np.int32], until: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Tell of which tensors a gradient was not finite up to a step of each."""
    norms = run.matrix("grad_max")
    bad = norms.known & ~np.isfinite(norms.values)
    marks = []
    for row, step in zip(ids.tolist(), until.tolist(), strict=True):
        earlier = bad[norms.steps <= step][:, norms.ids == row]
        marks.append(bool(earlier.any()))
    return np.array(marks, bool)
