"""The blocks that several probes made of one step, as one set of rows."""

from collections.abc import Sequence

import numpy as np

from ftlab.runlog.chunk import Rows
from ftlab.runlog.matrix import Bools, Floats, Ids


def gather(parts: Sequence[Rows]) -> Rows:
    """Join rows of one table and step, in the order of their ids.

    A column that a row lacks is not known there.
    """
    first = parts[0]
    increasing = bool((first.ids[1:] > first.ids[:-1]).all())
    if len(parts) == 1 and increasing:
        return first
    if increasing and all(np.array_equal(part.ids, first.ids) for part in parts):
        values = {name: part.values[name] for part in parts for name in part.values}
        known = {name: part.known[name] for part in parts for name in part.known}
        return Rows(first.table, first.step, first.ids, values, known)
    ids = np.unique(np.concatenate([part.ids for part in parts]))
    names = dict.fromkeys(name for part in parts for name in part.values)
    columns = {name: _column(parts, name, ids) for name in names}
    values = {name: column[0] for name, column in columns.items()}
    known = {name: column[1] for name, column in columns.items()}
    return Rows(first.table, first.step, ids, values, known)


def _column(parts: Sequence[Rows], name: str, ids: Ids) -> tuple[Floats, Bools]:
    values = np.full(len(ids), np.nan, np.float32)
    known = np.zeros(len(ids), bool)
    for part in parts:
        if name in part.values:
            at = np.searchsorted(ids, part.ids)
            values[at] = part.values[name]
            known[at] = part.known.get(name, True)
    return values, known
