"""From when on a weight counts as standing still: thresholds, and which steps count."""

import numpy as np
from numpy.typing import NDArray

from ftlab.records.names import NameRecord
from ftlab.rules.reading.tensors import elements, group_of
from ftlab.rules.reading.updates import Effective
from ftlab.runlog.run import Run

STUCK = 0.9
"""Share of a tensor's elements that did not move."""

LEAST = 0.75
"""Share that must not have moved at any measurement: the first updates are larger."""

WEIGHT = 0.1
"""Share of all trainable elements in tensors that are stuck."""

POINTS = 2
"""Measurements at which a tensor must be stuck."""

HEIGHT = 0.5
"""Share of the largest learning rate at which a measurement counts."""

HALF = {"bfloat16", "float16"}
"""Dtypes in which an ordinary update is rounded away."""

RISING = 1.05
"""Factor by which the learning rate may still grow afterwards."""

FAR = 64.0
"""Times half a step of the dtype from which on rounding cannot be the reason."""

_GRAIN = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
"""Half a step of each dtype, relative to the weight."""

Bools = NDArray[np.bool_]


def at_height(
    moved: Effective, steps: NDArray[np.int64], names: list[NameRecord]
) -> NDArray[np.bool_]:
    """Mark, per step and tensor, where the learning rate was at its height."""
    groups = [group_of(name) for name in names]
    columns = {group: _height(moved, group, steps) for group in set(groups)}
    return np.stack([columns[group] for group in groups], axis=1)


def _height(
    moved: Effective, group: int, steps: NDArray[np.int64]
) -> NDArray[np.bool_]:
    rows = np.searchsorted(moved.step, steps)
    here = moved.of(group)
    if not here.any() or rows.max(initial=0) >= len(moved.step):
        return np.zeros(len(steps), bool)
    rate = np.nan_to_num(moved.lr[:, group])
    coming = np.maximum.accumulate(rate[::-1])[::-1]
    high = (rate >= HEIGHT * rate.max()) & (coming <= RISING * rate)
    return np.asarray((high & here)[rows])


def standing(shares: NDArray[np.float32], counts: Bools) -> Bools:
    """Mark the columns that stood still at all measurements that count."""
    known = counts & ~np.isnan(shares)
    often = np.asarray(known.sum(axis=0) >= POINTS, bool)
    held = np.where(known[:, often], shares[:, often], np.nan)
    still = np.zeros_like(often)
    if held.size:
        usual, least = np.nanmedian(held, axis=0), np.nanmin(held, axis=0)
        still[often] = (usual >= STUCK) & (least >= LEAST)
    return still


def coarse(run: Run, ids: NDArray[np.int32], names: list[NameRecord]) -> Bools:
    """Mark tensors whose update would be far above what rounding takes away.

    Where those stand still the optimizer does not write at all. The least that an
    update could be is lr x gradient (SGD) or lr (Adam's first steps).
    """
    size = np.sqrt(elements(names))
    gradient = _latest(run, "grad_l2", ids) / size
    weight = _latest(run, "weight_l2", ids) / size
    groups = [group_of(name) for name in names]
    rates = {group: _rate_of(run, {group}) for group in set(groups)}
    rate = np.array([rates[group] for group in groups])
    grain = np.array([_GRAIN.get(n.dtype.rpartition(".")[2], 2.0**-8) for n in names])
    least = rate * np.minimum(gradient, 1.0)
    return np.asarray(np.nan_to_num(least) > FAR * grain * np.nan_to_num(weight), bool)


def _latest(run: Run, column: str, ids: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the latest finite value of each row, NaN where there is none."""
    matrix = run.matrix(column)
    finite = np.isfinite(matrix.values[::-1])
    found = {}
    if len(finite):
        last = matrix.values[::-1][finite.argmax(axis=0), np.arange(len(matrix.ids))]
        latest = np.where(finite.any(axis=0), last, np.nan)
        found = dict(zip(matrix.ids.tolist(), latest.tolist(), strict=True))
    return np.array([found.get(row, float("nan")) for row in ids.tolist()])


def rate_of(run: Run, names: list[NameRecord]) -> float:
    """Return the largest learning rate of the groups of ``names``, NaN if unknown."""
    return _rate_of(run, {group_of(name) for name in names})


def _rate_of(run: Run, groups: set[int]) -> float:
    lr = run.steps["lr"]
    rates = [lr[:, group] for group in groups if 0 <= group < lr.shape[1]]
    known = np.nan_to_num(rates, nan=-1.0)  # NaN where the optimizer chooses its own
    return float(known.max()) if known.max(initial=-1.0) >= 0 else float("nan")
