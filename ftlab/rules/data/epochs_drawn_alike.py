"""The rule DAT081, epochs-drawn-alike.

## What it does
Finds epochs in each of which a generator of random numbers begins at the same place,
and is drawn from while rows are made.

## Why is this bad?
Crops, masked words and noise are the same in each epoch: the model sees every row in
one form only, and what augmentation was for does not happen.

## Evidence
Digests of the generators where an epoch begins: in each worker behind its
`worker_init_fn`, or in the main process where there are none. A generator stood at the
same place in all epochs so far, 2 at least and 4 at most, and was drawn from in each
but the last: workers tell so at their end, and of the main process the steps do.
Of torch's generator in the main process nothing is said: dropout draws from it.
Measured: `random.seed(100 + worker)` gives the same state in both epochs; without a
`worker_init_fn` torch gives the workers of each epoch other seeds.
By hand: print the first random number of each epoch.

## What to try
1. No `worker_init_fn`, or one that seeds with `torch.initial_seed() % 2**32`, which is
   another number in each epoch.
2. Seed once, before the loop over epochs.

## Known problems
Rows that seed a generator by their own number are drawn alike wherever it begins.

## References
- torch, `Reproducibility`, "DataLoader"
"""

import itertools
from collections.abc import Iterator

import numpy as np

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.loader_start import GENERATORS, LoaderStart
from ftlab.rules.reading.loaders import NEEDS, by_index, has_loader
from ftlab.rules.rule import Rule
from ftlab.runlog.run import Run

EPOCHS, LEAST = 4, 2
"""Epochs that are looked at, at most and at least."""

_OF_STEPS = "rng_torch", "rng_cuda"
"""Generators that the steps themselves draw from."""


class EpochsDrawnAlike(Rule):
    """Finds epochs that draw what the one before has drawn."""

    code = "DAT081"
    name = "epochs-drawn-alike"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def applies(self, run: Run) -> bool:
        """Leave out runs whose loop has no DataLoader."""
        return has_loader(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for each generator."""
        starts = by_index(run)[:EPOCHS]
        if len(starts) < LEAST or len({each.workers for each in starts}) > 1:
            return
        alike = _of_workers if starts[0].workers else _of_process
        for column in GENERATORS:
            if alike(run, starts, column):
                yield self._finding(starts, column)

    def _finding(self, starts: list[LoaderStart], column: str) -> Finding:
        name, workers = GENERATORS[column], starts[0].workers
        whose = f" in {workers} workers" if workers else ""
        return self.finding(
            Severity.WARNING,
            f"{name}{whose} begins at the same place in each of {len(starts)} epochs, "
            "and rows are made with it",
            cause="worker_init_fn seeds with the same numbers in each epoch."
            if workers
            else "It is seeded anew in each epoch.",
            fix="Seed with torch.initial_seed() % 2**32 in worker_init_fn, or leave "
            "the seeds to torch."
            if workers
            else "Seed once, before the loop over epochs.",
            places=[Place("object", f"{starts[0].dataset}: {name}")],
            steps=(starts[1].step, starts[-1].step),
            evidence={"epochs": len(starts), "workers": workers, "threshold": LEAST},
            healthy="another place in each epoch",
        )


def _of_workers(_: Run, starts: list[LoaderStart], column: str) -> bool:
    """Tell whether the workers stood alike in all epochs, and drew in all but one."""
    whole = [each for each in starts if len(each.started) == each.workers]
    states = {tuple(w.rng.get(column) for w in each.started) for each in whole}
    moved = all(column in w.reseeded for each in whole for w in each.started)
    if len(whole) < len(starts) or len(states) != 1 or not moved:
        return False
    return all(column in (w.drawn or ()) for each in starts[:-1] for w in each.started)


def _of_process(run: Run, starts: list[LoaderStart], column: str) -> bool:
    """Tell whether the main process stood alike, and moved within each epoch."""
    states = {each.rng.get(column) for each in starts}
    if column in _OF_STEPS or column not in run.steps or len(states) != 1:
        return False
    table, borders = run.steps, [each.step for each in starts]
    return all(
        len(np.unique(table[column][(table.step >= one) & (table.step < other)])) > 1
        for one, other in itertools.pairwise(borders)
    )
