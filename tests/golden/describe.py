"""A run as text, every value of it, to be compared with golden text."""

from collections.abc import Iterator

import numpy as np

from ftlab.runlog.run import Run


def describe(run: Run) -> str:
    """Return all that ``run`` holds, one thing a line."""
    return "\n".join(_lines(run)) + "\n"


def _lines(run: Run) -> Iterator[str]:
    yield f"meta {dict(sorted(run.meta.items()))}"
    yield f"ranks {run.ranks}; last step {run.last_step}; tables {sorted(run.tables())}"
    yield from (f"facts {facts}" for facts in run.facts_history)
    for table in sorted(run.tables()):
        yield from (f"name {record}" for record in run.names(table).values())
    steps = run.steps
    for column in sorted(steps.columns):
        values = np.where(steps.known(column), steps[column], None)
        yield f"steps {column} {values.tolist()}"
    for table in sorted(run.tables()):
        for column in sorted(run.columns(table)):
            yield from _matrix(run, table, column)
    yield from (f"{entry}" for entry in run.ledger)
    yield from (f"{entry}" for entry in run.evaluations)
    yield from (f"{event}" for event in run.events)
    yield from (f"{finding}" for finding in run.findings)


def _matrix(run: Run, table: str, column: str) -> Iterator[str]:
    for resolution in (1, 64, 4096):
        matrix = run.matrix(column, table, resolution=resolution)
        yield f"{table} {column} by {resolution}: ids {matrix.ids.tolist()}"
        for line, step in enumerate(matrix.steps):
            values = np.where(matrix.known[line], matrix.values[line], None).tolist()
            extra = ""
            if resolution > 1:
                parts = (matrix.low, matrix.high, matrix.nonfinite)
                extra = f" {[part[line].tolist() for part in parts]}"
            if matrix.known[line].any():
                yield f"  {step} {values}{extra}"
