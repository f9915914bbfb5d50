"""EXP004, row-order: the order of rows changes nothing.

## What must hold
Rows in another order give the same logits, row by row.

## Why
A row that is read by its place (a mask that is made once, a cache that is kept, labels
that are taken from the row beside it) trains on a neighbour's data.

## When it does not apply
One row. Evaluation mode is used, so that BatchNorm does not mix rows. Losses with
in-batch negatives do not matter, as only logits are compared.

## What to try
In the module that is named, look for what it keeps between calls or takes by row index.

## References
- ftlab, `ftlab.diff`
"""

import torch

from ftlab.executions.pairs import Pair, evaluating
from ftlab.executions.side import NotApplicableError
from ftlab.executions.tokens import Grid, Meeting
from ftlab.experiments.experiment import Experiment
from ftlab.experiments.live import Live
from ftlab.records.outcome import Outcome


class RowOrder(Experiment):
    """Rows in the batch's order, and turned round."""

    code = "EXP004"
    name = "row-order"
    relation = "rows in another order give the same"
    cause = "A row's result depends on its place in the batch."
    fix = (
        "Look at what the module keeps between calls, or takes by the index of the row."
    )

    def run(self, live: Live) -> Outcome:
        """Turn the rows round."""
        rows = live.rows()
        if rows < 2:
            msg = "the batch is one row"
            raise NotApplicableError(msg)
        given = dict(live.batch)
        turned = {
            key: value.flip(0)
            if isinstance(value, torch.Tensor) and value.shape[:1] == (rows,)
            else value
            for key, value in given.items()
        }
        grid = Grid.of(given)
        if grid is None:
            msg = "the batch has no input_ids of shape (rows, positions)"
            raise NotApplicableError(msg)
        there = Grid(grid.shape, rows - 1 - grid.rows, grid.positions)
        a, b = (
            live.side(batch, settings=lambda: evaluating(live.model))
            for batch in (given, turned)
        )
        names = ("rows in order", "rows turned round")
        return self.compared(Pair(a, b, names, Meeting(grid, there, moved=True), False))
