"""Adapters that half precision keeps from learning: their updates are rounded away."""

from collections import defaultdict

import numpy as np

from ftlab.records.names import NameRecord
from ftlab.rules.reading.rounding import rounded_away
from ftlab.rules.reading.standstill import HALF, WEIGHT, at_height, coarse, standing
from ftlab.rules.reading.tensors import elements, records_of, text_of
from ftlab.rules.reading.updates import effective
from ftlab.runlog.run import Run

Lost = tuple[list[NameRecord], float, tuple[int, int]]
"""The tensors, the share that an update leaves in place, the first and last step."""

VANISHES = 2.0**-25
"""Half of the smallest number of float16: what is not above it rounds to 0."""


def epsilon_vanishes(run: Run) -> bool:
    """Tell whether an Adam of torch's divides by what float16 may round to 0.

    A fused one computes in float32 whatever it stores.
    """
    return any(
        "adam" in str(optimizer.get("class", "")).lower()
        and str(optimizer.get("module", "")).startswith("torch.optim")
        and not optimizer.get("fused")
        and any(
            (group.get("eps") or 1.0) <= VANISHES
            for group in optimizer.get("groups", ())
        )
        for optimizer in run.facts.optimizers
    )


def lost_to_rounding(run: Run) -> dict[str, Lost]:
    """Return, by adapter, the tensors in half precision that stand still.

    What counts as standing still is the same as in the rule about any weights, NUM002.
    """
    if "stuck_share" not in run.columns():
        return {}
    matrix = run.matrix("stuck_share").measured()
    if not len(matrix.steps):
        return {}
    names = records_of(run, matrix.ids)
    counts = at_height(effective(run), matrix.steps, names)
    counts &= matrix.known & ~np.isnan(matrix.values)
    still = standing(matrix.values, counts)
    still &= ~coarse(run, matrix.ids, names) & rounded_away(run, matrix.ids, names)
    sizes = elements(names)
    columns: dict[str, list[int]] = defaultdict(list)
    for column in np.flatnonzero(still).tolist():
        name = names[column]
        half = name.dtype.rpartition(".")[2] in HALF
        if half and text_of(name, "role") != "modules_to_save":
            columns[text_of(name, "adapter")].append(column)
    columns.pop("", None)
    found = {}
    for adapter, mine in columns.items():
        if sizes[mine].sum() >= WEIGHT * sizes.sum():
            rows = np.flatnonzero(counts[:, mine].any(axis=1))
            steps = int(matrix.steps[rows[0]]), int(matrix.steps[rows[-1]])
            share = float(matrix.values[:, mine][counts[:, mine]].mean())
            found[adapter] = [names[column] for column in mine], share, steps
    return found
