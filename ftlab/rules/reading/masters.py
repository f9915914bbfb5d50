"""Master weights: float32 copies that an optimizer steps in place of the parameters.

Apex O2, Megatron and loops written by hand keep them. The optimizer then holds nothing
of the model, and the model's parameters are in no group: by that alone such a run looks
like one whose optimizer was built for another model. What tells them apart is that each
copy has the shape of a half-precision parameter, and that the parameters move.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ftlab.rules.reading.updates import effective
from ftlab.runlog.run import Run

HALF = ("bfloat16", "float16")


def mastered(run: Run) -> frozenset[str]:
    """Name the parameters in no group of which the optimizers hold a copy.

    Empty once their weights were seen to stand still over steps that should have moved
    them: then the copies are another model's.
    """
    missing = run.facts.optimizers[0].get("missing", ()) if run.facts.optimizers else ()
    records = {record.name: record for record in run.names().values()}
    half = [
        records[name]
        for name in missing
        if name in records and records[name].dtype.endswith(HALF)
    ]
    copies = Counter(
        tuple(entry.get("shape", ()))
        for optimizer in run.facts.optimizers
        for entry in optimizer.get("foreign", ())
        if is_float32(entry)
    )
    named = []
    for record in half:
        if copies[tuple(record.shape)]:
            copies[tuple(record.shape)] -= 1
            named.append(record.name)
    return frozenset() if stands_still(run, named) else frozenset(named)


def without_copies(
    run: Run, foreign: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Drop the entries that are a copy of a parameter of `mastered`."""
    names = mastered(run)
    shapes = Counter(tuple(r.shape) for r in run.names().values() if r.name in names)
    kept = []
    for entry in foreign:
        shape = tuple(entry.get("shape", ()))
        if is_float32(entry) and shapes[shape]:
            shapes[shape] -= 1
        else:
            kept.append(entry)
    return kept


def is_float32(entry: Mapping[str, Any]) -> bool:
    """Tell whether a foreign parameter could be a master weight."""
    return str(entry.get("dtype", "")).endswith("float32")


def moving(run: Run) -> frozenset[str]:
    """Name the parameters whose weights changed, whoever changed them.

    An update counts that was measured above 0, and a norm that differs between two
    measurements: what is copied into a weight after the optimizer's step is no update.
    """
    names = run.names()
    found: set[int] = set()
    for column in {"update_l2", "weight_l2"} & set(run.columns()):
        matrix = run.matrix(column).measured()
        values, known = np.nan_to_num(matrix.values), matrix.known
        if not len(values):
            continue
        # A tensor that is followed from a later step on begins at its own first norm.
        first = values[known.argmax(axis=0), np.arange(values.shape[1])]
        base = 0.0 if column == "update_l2" else first
        found |= set(matrix.ids[(known & (values != base)).any(axis=0)].tolist())
    return frozenset(names[row].name for row in found if row in names)


def stands_still(run: Run, names: Sequence[str]) -> bool:
    """Tell whether none of ``names`` moved over at least one effective step."""
    if not names or "weight_l2" not in run.columns():
        return False
    measured = run.matrix("weight_l2").measured().steps
    if len(measured) < 2:
        return False
    moved = effective(run)
    steps = moved.step[moved.mask.any(axis=1)]
    between = (steps >= measured[0]) & (steps < measured[-1])
    return bool(between.any()) and moving(run).isdisjoint(names)
