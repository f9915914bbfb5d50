"""The gradient that the loss hands to the model."""

import numpy as np

from ftlab.runlog.run import Run


def zero_at_loss(run: Run) -> bool | None:
    """Tell whether the loss gave no gradient to the model; ``None``: not measured."""
    measured = run.steps["output_grad"]
    measured = measured[~np.isnan(measured)]
    return not measured.any() if len(measured) else None
