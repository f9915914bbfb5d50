"""Adapters that somebody wrote, both of whose factors are random at the start."""

import math

import numpy as np

from ftlab.records.names import NameRecord
from ftlab.rules.reading.tensors import records_of, text_of
from ftlab.rules.reasons.computed_start import ERRORS
from ftlab.runlog.run import Run

APART = 0.02
"""Relative distance of outputs above which they are others."""

Drawn = tuple[NameRecord, NameRecord, float]
"""A layer, its second factor as a parameter, and the factor's norm."""


def own_drawn(run: Run) -> list[Drawn]:
    """Return the layers, if nn.Linear drew the second factors of all of them."""
    if "second_l2" not in run.columns("starts"):
        return []
    norms = run.matrix("second_l2", "starts")
    off = run.matrix("off_base", "starts")
    known = {name.name: name for name in run.names().values()}
    found = []
    for column, layer in enumerate(records_of(run, norms.ids, "starts")):
        if layer.meta.get("of_peft", True):
            continue
        factor, l2 = known.get(text_of(layer, "second")), norms.values[0, column]
        if factor is None or not _fits(layer, float(l2)):
            return []
        if off.values[0, column] > APART:
            found.append((layer, factor, float(l2)))
    return found


def _fits(layer: NameRecord, l2: float) -> bool:
    """Tell a norm of elements of deviation 1 / sqrt(3 x rank)."""
    rank, count = int(layer.meta.get("rank", 0)), int(layer.meta.get("elements", 0))
    if rank < 1 or count < 2:
        return False
    expected = math.sqrt(count / (3 * rank))
    return bool(np.abs(l2 / expected - 1) <= ERRORS / math.sqrt(2 * count))
