"""Whether the processes of a training were fed the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ftlab.runlog.reader import open_log
from ftlab.runlog.run_comparison import rows_by_place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ftlab.runlog.run import Run

FEWEST = 2
"""Steps with other rows from which on it is no chance, nor one batch for a trial."""

Rows = dict[tuple[int, int], "NDArray[np.float32]"]


def steps_fed_alike(run: Run) -> int:
    """Count the steps in which all processes had the same rows.

    0 where some step had others, where only one process has logged to the run's folder,
    and where all steps had one batch.

    Examples
    --------
    >>> from ftlab.runlog.rank_rows import steps_fed_alike
    >>> from ftlab.runlog.run import Run
    >>> steps_fed_alike(Run())
    0
    """
    others = [each for each in run.ranks if each != run.rank]
    if run.path is None or not others:
        return 0
    runs = [run, *(open_log(run.path, rank=each) for each in others)]
    steps = runs[0].steps.step
    for each in runs[1:]:
        steps = np.intersect1d(steps, each.steps.step)
    fed = [rows_by_place(each, steps, "ids") for each in runs]
    alike = all(fed) and all(_are_equal(fed[0], each) for each in fed[1:])
    return len(steps) if alike and any(_differ(fed[0])) else 0


def _are_equal(one: Rows, other: Rows) -> bool:
    return one.keys() == other.keys() and all(
        np.array_equal(one[place], other[place], equal_nan=True) for place in one
    )


def _differ(rows: Rows) -> Iterator[bool]:
    """Tell of each place whether steps had other rows there."""
    yield from (len(np.unique(v[~np.isnan(v)])) >= FEWEST for v in rows.values())
