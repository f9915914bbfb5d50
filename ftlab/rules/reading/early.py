"""What is so from a run's first updates on, tensor by tensor.

What only comes later, when gradients have become small, may be a run that has learnt
all there is: rules about settings look at what was so all the time.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ftlab.records.names import NameRecord
from ftlab.rules.reading.tensors import group_of, records_of
from ftlab.rules.reading.updates import effective
from ftlab.runlog.run import Run

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MEASURED = 3
"""Measured updates at which it must be so."""

FIRST = 4
"""A run that was measured before this step is known from its start."""


@dataclass(frozen=True, slots=True)
class Early:
    """Columns of the table of tensors at the steps at which all were measured.

    Attributes
    ----------
    steps
        Of shape ``(T,)``; the first one is among the first of the run.
    names
        The tensors.
    columns
        By name, of shape ``(T, N)``.
    rates
        Learning rates, of shape ``(T, N)``; NaN where the update was none.
    """

    steps: NDArray[np.int64]
    names: list[NameRecord]
    columns: Mapping[str, Floats]
    rates: Floats

    def __getitem__(self, column: str) -> Floats:
        return self.columns[column]

    def always(self, mask: Bools) -> Bools:
        """Mark tensors for which it is so at each update, and at `MEASURED` of them."""
        updated = ~np.isnan(self.rates)
        for column in self.columns.values():
            updated &= ~np.isnan(column)
        enough = updated.sum(axis=0) >= MEASURED
        return np.asarray(enough & (mask | ~updated).all(axis=0), bool)


def from_the_start(run: Run, *columns: str, after: int = 0) -> Early | None:
    """Read columns at the steps that hold all of them, and come after one.

    The very first step is always left out: a factor of LoRA that is behind one at 0 has
    no gradient yet. ``None`` where the run's beginning or a column is missing.
    """
    matrices = {name: run.matrix(name).measured() for name in columns}
    first, *others = matrices.values()
    steps = first.steps
    ids = first.ids
    for each in others:
        steps, ids = np.intersect1d(steps, each.steps), np.intersect1d(ids, each.ids)
    if not len(steps) or steps[0] >= FIRST or not len(ids):
        return None
    steps = steps[steps > after]
    names = records_of(run, ids)
    values = {
        name: each.values[np.isin(each.steps, steps)][:, np.isin(each.ids, ids)]
        for name, each in matrices.items()
    }
    return Early(
        steps,
        names,
        {name: each.astype(np.float64) for name, each in values.items()},
        _rates(run, steps, names),
    )


def _rates(run: Run, steps: NDArray[np.int64], names: list[NameRecord]) -> Floats:
    moved = effective(run)
    lines = np.searchsorted(moved.step, steps)
    rates = np.full((len(steps), len(names)), np.nan)
    groups = [group_of(name) for name in names]
    for column, group in enumerate(groups):
        if 0 <= group < moved.lr.shape[1]:
            rates[:, column] = np.where(
                moved.of(group)[lines], moved.lr[lines, group], np.nan
            )
    return rates
