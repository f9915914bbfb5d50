"""The history of a loss scale: when updates were skipped, and where it stood then."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ftlab.records.names import NameRecord
from ftlab.rules.reading.tensors import records_of
from ftlab.rules.reading.updates import skipped_steps
from ftlab.rules.words import number
from ftlab.runlog.run import Run


@dataclass(frozen=True, slots=True)
class Streak:
    """Updates that were skipped one after the other.

    Attributes
    ----------
    first, stop
        Rows of the steps' table.
    """

    first: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.first


def streaks(run: Run) -> list[Streak]:
    """Return the skipped updates, those in a row together."""
    padded = np.concatenate(([False], skipped_steps(run), [False]))
    edges = np.flatnonzero(padded[1:] != padded[:-1]).tolist()
    return [Streak(*pair) for pair in zip(edges[::2], edges[1::2], strict=True)]


def forgotten_skips(run: Run) -> list[int]:
    """Return the rows in which the only update of a scaler was skipped, for nothing.

    The next row's scaler is a new one, too, and its scale is not lower.
    """
    table = run.steps
    if "scaler" not in table.columns:
        return []
    scaler, scale = table["scaler"], table["loss_scale"]
    counts = Counter(scaler.tolist())
    once = np.array([counts[each] == 1 for each in scaler.tolist()], bool)
    new = scaler[1:] > np.fmax.accumulate(scaler)[:-1]
    lost = skipped_steps(run)[:-1] & once[:-1] & new & (scale[1:] >= scale[:-1])
    return [int(row) for row in np.flatnonzero(lost)]


def scales_in_words(scales: NDArray[np.float64]) -> str:
    """Tell where a scale came from and went to: ``65536, 32768, ... 1``.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.rules.reading.scaling_history import scales_in_words
    >>> scales_in_words(np.array([16.0, 8.0, 4.0, 2.0, 1.0]))
    '16, 8, ... 1'
    >>> scales_in_words(np.array([16.0, 8.0]))
    '16, 8'
    """
    told = [f"{each:.0f}" if each >= 1 else number(each) for each in scales.tolist()]
    return ", ".join(told if len(told) < 4 else [*told[:2], f"... {told[-1]}"])


def spoiled_at(run: Run, step: int) -> tuple[list[NameRecord], int]:
    """Return the tensors whose gradient was not finite, and how many had one."""
    if "grad_max" not in run.columns():
        return [], 0
    matrix = run.matrix("grad_max", start=step, stop=step + 1)
    if not len(matrix.steps):
        return [], 0
    names = records_of(run, matrix.ids)
    bad = matrix.known[0] & ~np.isfinite(matrix.values[0])
    spoiled = [name for name, found in zip(names, bad, strict=True) if found]
    return spoiled, int(matrix.known[0].sum())
