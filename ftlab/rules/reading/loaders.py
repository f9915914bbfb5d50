"""What is known of the loaders of a run, for the rules about their random numbers."""

from collections.abc import Sequence

import numpy as np

from ftlab.records.loader_start import LoaderStart, WorkerStart
from ftlab.rules.rule import Need, Run
from ftlab.runlog.parting_cause import loader_starts
from ftlab.runlog.run_comparison import rows_by_place

NEEDS = Need(
    "how the loader begins its epochs",
    "ftlab.watch(...) around a loop over a DataLoader",
    lambda run: any(event.kind == "loader" for event in run.whole.events),
)


def has_loader(run: Run) -> bool:
    """Tell whether a loop has a DataLoader, or nothing is known of the run."""
    return not run.facts.model or NEEDS.present(run)


def by_index(run: Run) -> list[LoaderStart]:
    """Return the starts of loaders that ask their dataset for single rows.

    A stream may well draw the same in each worker, and give out what is its own.
    """
    return [each for each in loader_starts(run) if each.sampler]


def drawn_by(workers: Sequence[WorkerStart], generator: str) -> int | None:
    """Count the workers that have drawn from a generator; ``None``: not all have told.

    Parameters
    ----------
    generator
        A column of the steps, or the name of one that the dataset holds.
    """
    told = [each.drawn for each in workers if each.drawn is not None]
    drawn = sum(generator in each for each in told)
    return drawn if drawn > 1 or len(told) == len(workers) else None


def rows_from(run: Run, start: LoaderStart, count: int, column: str) -> list[float]:
    """Return digests of the first rows that a loader gave, in their order."""
    steps = run.window(start.step, start.step + count).steps.step
    fed = [
        (int(step), micro, row, float(value))
        for (micro, row), values in rows_by_place(run, steps, column).items()
        for step, value in zip(steps, values, strict=True)
        if not np.isnan(value) and (step, micro) >= (start.step, start.micro_batch)
    ]
    return [value for *_, value in sorted(fed)[:count]]
