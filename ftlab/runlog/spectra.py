"""How the energy of each LoRA update is spread over its directions, step by step."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ftlab.records.names import NameRecord
from ftlab.runlog.run import Run

CUTS = tuple(2**power for power in range(10))
"""Ranks beyond which a run records the energy, of those below r."""


@dataclass(frozen=True, slots=True)
class Spectra:
    """Energy of LoRA updates: the squared singular values of B A.

    Attributes
    ----------
    steps
        Those at which spectra were taken, of shape (steps,).
    pairs
        The record of each pair.
    ranks
        Its r, of shape (pairs,).
    cuts
        Ranks to which an update could be cut.
    needed
        How many directions hold 90 % of the energy, of shape (steps, pairs); NaN where
        that was not measured, or B A is 0 or not finite.
    beyond
        Share of the energy beyond each cut, of shape (cuts, steps, pairs); 0 from r on,
        NaN as above.
    """

    steps: NDArray[np.int64]
    pairs: tuple[NameRecord, ...]
    ranks: NDArray[np.int64]
    cuts: tuple[int, ...]
    needed: NDArray[np.float64]
    beyond: NDArray[np.float64]


def spectra_of(run: Run, resolution: int = 1) -> Spectra:
    """Read the spectra of a run's LoRA pairs.

    Parameters
    ----------
    resolution
        Steps of a window whose mean is read.
    """
    names = run.names("adapters")
    known = run.columns("adapters")
    sizes = run.matrix("ba_l2", "adapters") if "ba_l2" in known else None
    every = [] if sizes is None else [e for e in sizes.ids.tolist() if e in names]
    ranks = np.array([int(names[each].meta.get("r", 0)) for each in every], np.int64)
    cuts = [e for e in CUTS if e < max(ranks, default=0) and f"beyond_{e}" in known]
    if "rank_90" not in known:
        nothing = np.zeros(0, np.int64)
        return Spectra(nothing, (), nothing, (), np.zeros((0, 0)), np.zeros((0, 0, 0)))

    def read(column: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        found = run.matrix(column, "adapters", start=0, resolution=resolution)
        at = np.searchsorted(found.ids, every)
        return found.steps, np.where(found.known, found.values, np.nan)[:, at]

    steps, norms = read("ba_l2")
    needed = np.where(norms > 0, read("rank_90")[1], np.nan)
    rows = ~np.isnan(needed).all(1)
    beyond = np.zeros((len(cuts), *needed.shape))
    for index, cut in enumerate(cuts):
        beyond[index] = np.where(ranks <= cut, 0.0, read(f"beyond_{cut}")[1])
    beyond[:, np.isnan(needed)] = np.nan
    pairs = tuple(names[each] for each in every)
    return Spectra(
        steps[rows], pairs, ranks, tuple(cuts), needed[rows], beyond[:, rows]
    )
