"""The rows of the table of losses, step by step: what rules about a loss read."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ftlab.records.names import NameRecord
from ftlab.rules.rule import Run, needs_column

TABLE = "losses"

NEEDS = needs_column(
    "token_loss",
    "what a cross entropy compares",
    "ftlab.watch(...) with its standard probes, and a loss with a cross entropy that "
    "is not fused with the head",
    TABLE,
)


@dataclass(frozen=True, slots=True)
class LossRow:
    """What one term of a loss was given, as measured over the steps.

    Attributes
    ----------
    name
        The term, with how its graph reads in ``meta``.
    steps
        The steps at which it was measured.
    columns
        What was measured, by column.
    """

    name: NameRecord
    steps: NDArray[np.int64]
    columns: Mapping[str, NDArray[np.float64]]

    def text(self, key: str) -> str:
        """Return an entry of the meta as text."""
        return str(self.name.meta.get(key, ""))

    @property
    def factor(self) -> float:
        """The constant that its logits were multiplied with."""
        return float(self.name.meta.get("factor", 1.0))

    @property
    def classes(self) -> int:
        """How many scores a position has."""
        return int(self.name.meta.get("classes", 0))


def loss_rows(run: Run) -> Iterator[LossRow]:
    """Yield the terms of the run's losses."""
    names = run.names(TABLE)
    matrices = {column: run.matrix(column, TABLE) for column in run.columns(TABLE)}
    for row, name in names.items():
        columns: dict[str, NDArray[np.float64]] = {}
        steps = np.empty(0, np.int64)
        for column, matrix in matrices.items():
            at = np.flatnonzero(matrix.ids == row)
            if len(at):
                known = matrix.known[:, at[0]]
                columns[column] = matrix.values[known, at[0]].astype(np.float64)
                steps = matrix.steps[known]
        if len(steps):
            yield LossRow(name, steps, columns)
