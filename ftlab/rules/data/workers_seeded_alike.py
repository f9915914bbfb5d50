"""The rule DAT080, workers-seeded-alike.

## What it does
Finds loaders whose `worker_init_fn` puts a generator of random numbers to the same
place in several workers.

## Why is this bad?
What is drawn while rows are made (crops, masked words, noise, dropped tokens) is the
same in each worker: as many rows as there are workers share one draw. torch gives each
worker a seed of its own; the function takes that away.

## Evidence
Each worker tells where its generators stand before and behind `worker_init_fn`, and at
its end which of them it has drawn from. Those of at least 2 workers stood at the same
place behind it, and elsewhere before. Where 2 workers have drawn from the generator it
is a warning; where they have not told of their end, a note; where they have drawn from
another one only, nothing is said.
Measured: `np.random.seed(0)` in 2 workers gives one state in both, 24 bits of a digest;
`np.random.seed(torch.initial_seed() % 2**32)` gives two.
By hand: `worker_init_fn=lambda w: print(w, np.random.rand())`.

## What to try
1. Leave it to torch (2.0 and later seed Python, NumPy and torch), without a
   `worker_init_fn`.
2. `np.random.seed(torch.initial_seed() % 2**32)` in it: that seed is the worker's.

## Known problems
Rows that seed a generator by their own number draw what they should: `worker_init_fn`
is then without use, and this warning too. Streams may shuffle alike in each worker, to
give out a share each: not judged.

## References
- torch, `Reproducibility`, "DataLoader"
"""

from collections import Counter
from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.loader_start import GENERATORS, LoaderStart, WorkerStart
from ftlab.rules.reading.loaders import NEEDS, by_index, drawn_by, has_loader
from ftlab.rules.rule import Rule
from ftlab.runlog.run import Run

WORKERS = 2
"""Workers that are alike."""


class WorkersSeededAlike(Rule):
    """Finds workers whose function gives them one seed."""

    code = "DAT080"
    name = "workers-seeded-alike"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def applies(self, run: Run) -> bool:
        """Leave out runs whose loop has no DataLoader."""
        return has_loader(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for each generator."""
        for column in GENERATORS:
            found = (self._of(each, column) for each in by_index(run))
            told = [each for each in found if each is not None]
            worst = [e for e in told if e.severity is Severity.WARNING] or told
            yield from worst[:1]

    def _of(self, start: LoaderStart, column: str) -> Finding | None:
        alike = _alike(start, column)
        drawn = drawn_by(alike, column)
        if len(alike) < WORKERS or (drawn is not None and drawn < WORKERS):
            return None
        name, seed = GENERATORS[column], alike[0].reseeded[column]
        with_ = "" if seed is None else f" with {seed}"
        draws = f", and {drawn} of them draw from it" if drawn else ""
        return self.finding(
            Severity.WARNING if drawn else Severity.INFO,
            f"worker_init_fn seeds {name} alike{with_} in {len(alike)} of "
            f"{start.workers} workers{draws}",
            cause="The number that worker_init_fn seeds with is not the worker's own.",
            fix="Seed with torch.initial_seed() % 2**32 in worker_init_fn, or leave "
            "the seeds to torch.",
            places=[Place("object", f"worker_init_fn: {name}")],
            steps=(start.step, start.step),
            evidence={
                "workers": len(alike),
                "drawn": -1 if drawn is None else drawn,
                "threshold": WORKERS,
            },
            healthy="a seed of its own in each worker",
        )


def _alike(start: LoaderStart, column: str) -> list[WorkerStart]:
    """Return the workers that the function has put to the place of the most."""
    moved = [e for e in start.started if column in e.reseeded and column in e.rng]
    if not moved:
        return []
    (place, _), *_ = Counter(each.rng[column] for each in moved).most_common(1)
    return [each for each in moved if each.rng[column] == place]
