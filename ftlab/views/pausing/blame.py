"""The blame view: which samples and tokens a step owes its loss and gradient to."""

from dataclasses import astuple, fields

import numpy as np

from ftlab.records.blame import Blame, SampleBlame
from ftlab.views.drawn import Canvas, DataFrame
from ftlab.views.view import View

ROWS = 24
"""Samples that the figure shows at most, the highest losses."""


class BlameView(View[Blame]):
    """Loss per sample and token, and gradient norm per sample, of one step.

    Parameters
    ----------
    blame
        What was measured.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.records.blame import Blame, SampleBlame
    >>> from ftlab.views.pausing.blame import BlameView
    >>> losses = np.array([[np.nan, 1.0, 1.0], [np.nan, 1.0, 9.0]])
    >>> targets, norms = np.array([[-1, 5, 6], [-1, 7, 8]]), np.array([0.5, 3.0])
    >>> samples = (
    ...     SampleBlame(1, 5.0, 2, 3.0, 2, 3, 9.0),
    ...     SampleBlame(0, 1.0, 2, 0.5, 1, 3, 1.0),
    ... )
    >>> view = BlameView(Blame(7, 0, losses, targets, norms, 3.1, 0.0, samples))
    >>> view
    Step 7, micro-batch 0: 2 samples, 4 tokens with a loss, mean 3; gradient 3.1
      sample 1: loss 5 over 2, gradient 3; token 2 at 9
      sample 0: loss 1 over 2, gradient 0.5; tokens 1-2 at 1
    >>> view.table()[["sample", "loss", "gradient"]]
       sample  loss  gradient
    0       1   5.0       3.0
    1       0   1.0       0.5
    """

    title = "Blame"

    def __init__(self, blame: Blame) -> None:
        super().__init__(blame)
        self._blame = blame

    @property
    def losses(self) -> np.ndarray:
        """Loss of each predicted token, ``(samples, tokens)``; NaN where none."""
        return self._blame.losses

    @property
    def gradients(self) -> np.ndarray:
        """L2 norm of what each sample adds to the gradient; NaN where unknown."""
        return self._blame.gradients

    def _table(self, summary: Blame) -> DataFrame:
        import pandas as pd

        columns = [field.name for field in fields(SampleBlame)]
        table = pd.DataFrame(map(astuple, summary.samples), columns=columns)
        pairs = ["pair", "role", "pair_loss", "pair_gradient"]
        paired = any(each.pair >= 0 for each in summary.samples)
        return table if paired else table.drop(columns=pairs)

    def size_of(self, summary: Blame) -> tuple[float, float]:
        """Return width and height in inches, by how many samples there are."""
        return (9.0, 1.2 + 0.22 * min(len(summary.samples), ROWS))

    def draw_on(self, figure: Canvas, summary: Blame) -> None:
        """Draw the losses, a row for each sample, and the gradients beside them."""
        shown = summary.samples[:ROWS]
        order = [each.sample for each in shown]
        left, right = figure.subplots(1, 2, width_ratios=(4, 1), sharey=True)
        losses = np.ma.masked_invalid(summary.losses[order])
        picture = left.imshow(losses, aspect="auto", cmap="Reds", vmin=0.0)
        figure.colorbar(picture, ax=left, label="loss")
        left.set_yticks(range(len(order)), [each.name for each in shown])
        left.set_xlabel("token")
        norms = np.nan_to_num(summary.gradients[order], posinf=0.0)
        right.barh(range(len(order)), norms, color="tab:red")
        right.set_xlabel("gradient")

    def _text(self, summary: Blame) -> str:
        return repr(summary)
