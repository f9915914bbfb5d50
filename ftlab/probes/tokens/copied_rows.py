"""Compares the rows of each micro-batch with each other."""

import zlib
from collections.abc import Iterable, Iterator
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from ftlab.probes.tokens.sample_reading import Row
from ftlab.records.copied_rows import CopiedRows

Numbers = NDArray[np.int64]


def copied_rows(rows: Iterable[Row]) -> Iterator[CopiedRows]:
    """Count the different rows of each micro-batch, those with labels.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.probes.tokens.copied_rows import copied_rows
    >>> from ftlab.probes.tokens.sample_reading import Columns
    >>> ids = np.array([5, 6, 7])
    >>> rows = [(0, row, Columns(ids, ids)) for row in range(3)]
    >>> [(each.rows, each.different) for each in copied_rows(rows)]
    [(3, 1)]
    """
    for micro, held in groupby(rows, key=lambda row: row[0]):
        first: dict[bytes, int] = {}
        copy = (-1, -1)
        count = 0
        for _, row, columns in held:
            if columns.labels is None:
                continue
            content = _content(columns.ids, columns.labels, columns.attention)
            known = first.setdefault(content, row)
            count += 1
            if known != row and copy == (-1, -1):
                copy = known, row
        if first:
            together = zlib.crc32(b"".join(sorted(first)))
            yield CopiedRows(micro, count, len(first), *copy, together)


def _content(ids: Numbers, labels: Numbers, attention: Numbers | None) -> bytes:
    """Write down what a row says and is trained on, wherever it is padded."""
    kept = np.ones(len(ids), dtype=bool)
    if attention is not None:
        kept = (attention != 0) | (labels >= 0)
    return ids[kept].tobytes() + b"|" + labels[kept].tobytes()
