"""Which steps could change a weight at all.

A step is *effective* for a parameter when its optimizer group had a learning rate above
0 and the scaler did not skip the step. Warm-up from 0, skipped steps and parameters in
no group are thereby told apart from weights that should have moved and did not.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ftlab.runlog.run import Run


@dataclass(frozen=True, slots=True)
class Effective:
    """Effective steps by optimizer group.

    Attributes
    ----------
    step
        Step numbers, int64 of shape ``(T,)``.
    lr
        Learning rates, float64 of shape ``(T, groups)``; NaN where not recorded.
    mask
        Bool of shape ``(T, groups)``.
    """

    step: NDArray[np.int64]
    lr: NDArray[np.float64]
    mask: NDArray[np.bool_]

    def of(self, group: int) -> NDArray[np.bool_]:
        """Return at which steps ``group`` was updated; nowhere for group -1."""
        if 0 <= group < self.mask.shape[1]:
            return self.mask[:, group]
        return np.zeros(len(self.step), bool)

    def steps_of(self, group: int) -> NDArray[np.int64]:
        """Return the effective steps of ``group``."""
        return self.step[self.of(group)]

    def count(self, group: int, first: int, stop: int) -> int:
        """Count the effective steps of ``group`` in ``[first, stop)``."""
        steps = self.steps_of(group)
        return int(((steps >= first) & (steps < stop)).sum())


def skipped_steps(run: Run) -> NDArray[np.bool_]:
    """Return at which steps the scaler skipped the update."""
    return np.asarray(run.steps["skipped"] == 1, bool)


def effective(run: Run) -> Effective:
    """Read from the steps' table which steps could change a weight."""
    table = run.steps
    lr = table["lr"]
    mask = (np.nan_to_num(lr) > 0) & ~skipped_steps(run)[:, None]
    return Effective(table.step, lr, mask)


def may_have_gradients(run: Run) -> bool:
    """Tell whether any gradient was seen, or none could have been."""
    if "grad_norm" in run.steps.columns and run.steps.known("grad_norm").any():
        return True
    if "has_grad" not in run.columns():
        return True
    has = run.matrix("has_grad")
    return bool((has.values[has.known] > 0).any())
