"""Keeps raw rows within a disk budget; roll-ups and what surrounds findings stay."""

from pathlib import Path

import numpy as np

from ftlab.runlog.arrow import array_of, values_of
from ftlab.runlog.segment import write_file
from ftlab.runlog.tail import read_file

MARGIN = 64
"""Steps before and after a finding that keep their raw rows."""
THINNED = "ftlab.thinned"
"""Key in the metadata of a segment that has lost rows."""


class Thinning:
    """Removes the oldest closed raw segments when all of them take too much.

    Parameters
    ----------
    budget
        Bytes; ``None`` never removes anything.
    """

    def __init__(self, budget: int | None) -> None:
        self.budget = budget
        self._protected: set[int] = set()
        self._segments: list[tuple[Path, int]] = []
        self._kept: list[tuple[Path, int]] = []

    def protect(self, step: int) -> None:
        """Keep the raw rows around ``step``."""
        self._protected.add(step)

    def sealed(self, path: Path) -> None:
        """Take note of a segment that was closed, and thin older ones if need be."""
        if self.budget is None:
            return
        self._segments.append((path, path.stat().st_size))
        while len(self._segments) > 1 and self._total() > self.budget:
            oldest = self._segments.pop(0)[0]
            rest = thin(oldest, self._protected)
            if rest:
                self._kept.append((oldest, rest))

    def _total(self) -> int:
        return sum(size for _, size in (*self._segments, *self._kept))


def thin(path: Path, protected: set[int]) -> int:
    """Keep only rows around protected steps; return the bytes that are left."""
    table = read_file(path)
    steps = values_of(table.column("step"))
    keep = np.zeros(len(steps), bool)
    for step in protected:
        keep |= np.abs(steps - step) <= MARGIN
    if not keep.any():
        path.unlink()
        return 0
    write_file(path, table.filter(array_of(keep)), (THINNED,))
    return path.stat().st_size
