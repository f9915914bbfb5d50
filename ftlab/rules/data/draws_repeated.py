"""The rule DAT080, draws-repeated.

## What it does
Finds random numbers that are drawn again while rows are made: in several workers of a
loader whose `worker_init_fn` gives them one seed, from copies of a generator that a
dataset made once, or in each epoch anew.

## Why is this bad?
Crops, masked words, noise and dropped tokens are the same in as many rows as there are
workers, or in each epoch: the model sees every row in one form only, and what
augmentation was for does not happen. torch gives each worker a seed of its own and
knows nothing of `self.rng = np.random.default_rng(0)`.

## Evidence
Each worker tells where its generators stand before and behind `worker_init_fn`, and at
its end which of them it has drawn from. *workers*: those of 2 at least stood at the
same place behind it, and elsewhere before, and 2 have drawn. *copies*: a generator that
the dataset or the collator holds, or that their methods name, found without calling
anything, stood at one place in 2 copies of a worker or an epoch, and 2 have drawn. Both
are a note where workers have not told of their end. *epochs*: a generator began at the
same place in all epochs so far, 2 at least and 4 at most, in each worker behind its
`worker_init_fn` or in the main process, and was drawn from in each but the last; of
torch's generator in the main process nothing is said, for dropout draws from it.
Measured: `np.random.seed(0)` in 2 workers gives one state in both,
`np.random.seed(torch.initial_seed() % 2**32)` two; `default_rng(3)` made in `__init__`
stands alike in 2 of 2 workers and in each epoch.
By hand: `worker_init_fn=lambda w: print(w, np.random.rand())`.

## What to try
1. Leave it to torch (2.0 and later seed Python, NumPy and torch), without a
   `worker_init_fn`; else `np.random.seed(torch.initial_seed() % 2**32)` in it.
2. For a generator of the dataset, in `worker_init_fn`:
   `get_worker_info().dataset.rng = np.random.default_rng(torch.initial_seed())`.
3. Seed once, before the loop over epochs.

## Known problems
Rows that seed a generator by their own number are drawn alike wherever it begins: the
warning is then without use. Found are 256 objects of a dataset, 8 deep. Streams are
left alone, for they share what they draw.

## References
- torch, `Reproducibility`, "DataLoader"
- tanelp, "Using PyTorch + NumPy? You're making a mistake"
"""

import itertools
from collections import Counter

import numpy as np

from ftlab.records.loader_start import (
    GENERATORS,
    HeldGenerator,
    LoaderStart,
    WorkerStart,
)
from ftlab.rules.reading.loaders import NEEDS, by_index, drawn_by, has_loader
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity

ALIKE = 2
"""Workers, copies or epochs that begin alike."""

EPOCHS = 4
"""Epochs that are looked at, at most."""

_OF_STEPS = "rng_torch", "rng_cuda"
"""Generators that the steps themselves draw from."""

_SEED = "Seed with torch.initial_seed() % 2**32 in worker_init_fn, or leave the seeds "


class DrawsRepeated(Rule):
    """Finds random numbers that workers, copies or epochs draw again."""

    code = "DAT080"
    requires = NEEDS
    applies = staticmethod(has_loader)

    def check(self, run: Run) -> Results:
        """Yield one finding for each generator, and each way."""
        starts = by_index(run)
        for column in GENERATORS:
            found = (self._of_workers(each, column) for each in starts)
            told = [each for each in found if each is not None]
            worst = [e for e in told if e.severity is Severity.WARNING] or told
            yield from worst[:1]
        for held in starts[0].held if starts else ():
            yield from self._of_copies(starts, held)
        first = starts[:EPOCHS]
        if len(first) >= ALIKE and len({each.workers for each in first}) == 1:
            for column in GENERATORS:
                if _epochs_are_alike(run, first, column):
                    yield self._of_epochs(first, column)

    def _of_workers(self, start: LoaderStart, column: str) -> Finding | None:
        alike = _alike(start, column)
        drawn = drawn_by(alike, column)
        if len(alike) < ALIKE or (drawn is not None and drawn < ALIKE):
            return None
        name, seed = GENERATORS[column], alike[0].reseeded[column]
        with_ = "" if seed is None else f" with {seed}"
        draws = f", and {drawn} of them draw from it" if drawn else ""
        return self.finding(
            Severity.WARNING if drawn else Severity.INFO,
            f"worker_init_fn seeds {name} alike{with_} in {len(alike)} of "
            f"{start.workers} workers{draws}",
            cause="The number that worker_init_fn seeds with is not the worker's own.",
            fix=f"{_SEED}to torch.",
            places={"object": f"worker_init_fn: {name}"},
            steps=(start.step, start.step),
            evidence=_counted("workers", workers=len(alike), drawn=drawn),
            healthy="a seed of its own in each worker",
        )

    def _of_copies(self, starts: list[LoaderStart], held: HeldGenerator) -> Results:
        known = [w for each in starts for w in each.started if held.name in w.held]
        copies = [e for e in known if e.held[held.name] == known[0].held[held.name]]
        drawn = drawn_by(copies, held.name)
        if len(copies) < ALIKE or (drawn is not None and drawn < ALIKE):
            return
        draws = f", and {drawn} have drawn from them" if drawn else ""
        workers = len({each.worker for each in copies})
        yield self.finding(
            Severity.WARNING if drawn else Severity.INFO,
            f"{len(copies)} copies of {held.name} ({held.kind}), in {workers} workers, "
            f"begin at the same place{draws}",
            cause="It was made once, and each worker of each epoch gets a copy of it.",
            fix="Make it anew in worker_init_fn, with torch.initial_seed(), or draw "
            "from the global generators, which torch seeds.",
            places={"object": held.name},
            steps=(starts[0].step, starts[0].step),
            evidence=_counted("copies", copies=len(copies), drawn=drawn),
            healthy="a place of its own for each copy",
        )

    def _of_epochs(self, starts: list[LoaderStart], column: str) -> Finding:
        name, workers = GENERATORS[column], starts[0].workers
        whose = f" in {workers} workers" if workers else ""
        return self.warning(
            f"{name}{whose} begins at the same place in each of {len(starts)} epochs, "
            "and rows are made with it",
            cause="worker_init_fn seeds with the same numbers in each epoch."
            if workers
            else "It is seeded anew in each epoch.",
            fix=f"{_SEED}to torch."
            if workers
            else "Seed once, before the loop over epochs.",
            places={"object": f"{starts[0].dataset}: {name}"},
            steps=(starts[1].step, starts[-1].step),
            evidence=_counted("epochs", epochs=len(starts), workers=workers),
            healthy="another place in each epoch",
        )


def _counted(reason: str, **counts: int | None) -> dict[str, str | int]:
    known = {name: -1 if count is None else count for name, count in counts.items()}
    return {"reason": reason, **known, "threshold": ALIKE}


def _alike(start: LoaderStart, column: str) -> list[WorkerStart]:
    """Return the workers that the function has put to the place of the most."""
    moved = [e for e in start.started if column in e.reseeded and column in e.rng]
    if not moved:
        return []
    (place, _), *_ = Counter(each.rng[column] for each in moved).most_common(1)
    return [each for each in moved if each.rng[column] == place]


def _epochs_are_alike(run: Run, starts: list[LoaderStart], column: str) -> bool:
    """Tell whether a generator stood alike in all epochs, and moved in all but one."""
    if not starts[0].workers:
        return _process_is_alike(run, starts, column)
    whole = [each for each in starts if len(each.started) == each.workers]
    states = {tuple(w.rng.get(column) for w in each.started) for each in whole}
    moved = all(column in w.reseeded for each in whole for w in each.started)
    if len(whole) < len(starts) or len(states) != 1 or not moved:
        return False
    return all(column in (w.drawn or ()) for each in starts[:-1] for w in each.started)


def _process_is_alike(run: Run, starts: list[LoaderStart], column: str) -> bool:
    states = {each.rng.get(column) for each in starts}
    if column in _OF_STEPS or column not in run.steps or len(states) != 1:
        return False
    table, borders = run.steps, [each.step for each in starts]
    return all(
        len(np.unique(table[column][(table.step >= one) & (table.step < other)])) > 1
        for one, other in itertools.pairwise(borders)
    )
