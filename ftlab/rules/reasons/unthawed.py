"""What was frozen for an evaluation and not thawed after it."""

from dataclasses import dataclass

import numpy as np

from ftlab.rules.reading.tensors import group_of, text_of
from ftlab.runlog.run import Run

TABLE = "unthawed"


@dataclass(frozen=True, slots=True)
class Unthawed:
    """Tensors of adapters that are frozen since an evaluation.

    Attributes
    ----------
    step
        The first step without them.
    thawed
        How many others were frozen with them and learn again.
    """

    step: int
    names: list[str]
    thawed: int


def not_thawed(run: Run) -> Unthawed | None:
    """Return those that an optimizer holds and that are frozen still.

    Of several evaluations the first one counts that missed some of them.
    """
    if TABLE not in run.tables():
        return None
    matrix, names = run.matrix("thawed", TABLE), run.names(TABLE)
    latest = {record.name: record for record in run.names().values()}
    for row, step in enumerate(matrix.steps.tolist()):
        columns = np.flatnonzero(matrix.known[row])
        missed = [names[int(matrix.ids[column])].name for column in columns]
        still = [
            name
            for name in missed
            if (record := latest.get(name)) is not None
            and not record.trainable
            and text_of(record, "adapter")
            and group_of(record) >= 0
        ]
        if still:
            return Unthawed(step, still, int(matrix.values[row, columns[0]]))
    return None
