"""The rule DAT082, generator-copied-to-workers.

## What it does
Finds generators of random numbers that a dataset made once, and that each worker of its
loader has a copy of, which begins where the others do.

## Why is this bad?
torch seeds the global generators of each worker, and knows nothing of
`self.rng = np.random.default_rng(0)`: rows of different workers are made with the same
draws, and those of the next epoch with the same again, for it is copied anew from the
main process, where nobody draws from it.

## Evidence
The generators that the dataset or the collator holds, or that their methods name, are
found without calling anything; each worker tells where its copies stand behind
`worker_init_fn`, and at its end which of them it has drawn from. Copies of 2 workers at
least stood at one place, and 2 have drawn; or one worker's did in 2 epochs. Where they
have not told of their end it is a note; where they have not drawn, nothing is said.
Measured: `default_rng(3)` made in `__init__` stands alike in 2 of 2 workers and in each
epoch; one that is made in `worker_init_fn` from `torch.initial_seed()` does not.
By hand: print `self.rng.bit_generator.state` in `__getitem__`.

## What to try
1. In `worker_init_fn`:
   `get_worker_info().dataset.rng = np.random.default_rng(torch.initial_seed())`.
2. The global generators: torch seeds those of Python, NumPy and torch in each worker.

## Known problems
A generator that is set by the number of a row before each draw is not harmed. Found are
256 objects of a dataset, 8 deep; streams are left alone, for they share what they draw.

## References
- tanelp, "Using PyTorch + NumPy? You're making a mistake"
- torch, `Reproducibility`, "DataLoader"
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.loader_start import HeldGenerator, LoaderStart, WorkerStart
from ftlab.rules.reading.loaders import NEEDS, by_index, drawn_by, has_loader
from ftlab.rules.rule import Rule
from ftlab.runlog.run import Run

COPIES = 2
"""Copies that begin alike."""


class GeneratorCopiedToWorkers(Rule):
    """Finds copies of one generator, each of which is drawn from."""

    code = "DAT082"
    name = "generator-copied-to-workers"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def applies(self, run: Run) -> bool:
        """Leave out runs whose loop has no DataLoader."""
        return has_loader(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for each generator that the dataset holds."""
        starts = by_index(run)
        for held in starts[0].held if starts else ():
            copies = _copies(starts, held.name)
            drawn = drawn_by(copies, held.name)
            if len(copies) >= COPIES and (drawn is None or drawn >= COPIES):
                yield self._finding(starts[0], held, copies, drawn)

    def _finding(
        self,
        start: LoaderStart,
        held: HeldGenerator,
        copies: list[WorkerStart],
        drawn: int | None,
    ) -> Finding:
        draws = f", and {drawn} have drawn from them" if drawn else ""
        workers = len({each.worker for each in copies})
        return self.finding(
            Severity.WARNING if drawn else Severity.INFO,
            f"{len(copies)} copies of {held.name} ({held.kind}), in {workers} workers, "
            f"begin at the same place{draws}",
            cause="It was made once, and each worker of each epoch gets a copy of it.",
            fix="Make it anew in worker_init_fn, with torch.initial_seed(), or draw "
            "from the global generators, which torch seeds.",
            places=[Place("object", held.name)],
            steps=(start.step, start.step),
            evidence={
                "copies": len(copies),
                "workers": workers,
                "drawn": -1 if drawn is None else drawn,
                "threshold": COPIES,
            },
            healthy="a place of its own for each copy",
        )


def _copies(starts: list[LoaderStart], name: str) -> list[WorkerStart]:
    """Return the workers, of all epochs, whose copies begin as the first one's does."""
    known = [w for each in starts for w in each.started if name in w.held]
    return [each for each in known if each.held[name] == known[0].held[name]]
