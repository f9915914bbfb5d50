"""Sets of rows in one bit for each, and what was found in them."""

import numpy as np
from numpy.typing import NDArray

from ftlab.records.data_scan import Spot

KEPT = 200
"""Places of each kind of fault that are kept."""


class RowSet:
    """Numbers of rows.

    Examples
    --------
    >>> from ftlab.probes.data.row_sets import RowSet
    >>> rows = RowSet()
    >>> rows.add(70), rows.add(70), 70 in rows, 3 in rows, len(rows)
    (True, False, True, False, 1)
    >>> rows.numbers().tolist()
    [70]
    """

    def __init__(self) -> None:
        self._bits = bytearray()
        self._count = 0

    def add(self, row: int) -> bool:
        """Put a row in, and tell whether it was not there before."""
        at, bit = row >> 3, 1 << (row & 7)
        if at >= len(self._bits):
            self._bits.extend(bytes(max(64, at + 1 - len(self._bits), len(self._bits))))
        if self._bits[at] & bit:
            return False
        self._bits[at] |= bit
        self._count += 1
        return True

    def numbers(self) -> NDArray[np.int64]:
        """Return the rows in ascending order."""
        bits = np.frombuffer(bytes(self._bits), np.uint8)
        return np.flatnonzero(np.unpackbits(bits, bitorder="little")).astype(np.int64)

    def __contains__(self, row: int) -> bool:
        at = row >> 3
        return at < len(self._bits) and bool(self._bits[at] & (1 << (row & 7)))

    def __len__(self) -> int:
        return self._count


class Findings:
    """Rows by kind of fault, and the first places of each."""

    def __init__(self) -> None:
        self.rows: dict[str, RowSet] = {}
        self.spots: dict[str, list[Spot]] = {}

    def add(self, name: str, row: int) -> bool:
        """Count a row, and tell whether its place is still to be kept."""
        known = self.rows.get(name)
        if known is None:
            known, self.spots[name] = self.rows.setdefault(name, RowSet()), []
        return known.add(row) and len(self.spots[name]) < KEPT

    def keep(self, name: str, spot: Spot) -> None:
        """Keep a place."""
        self.spots[name].append(spot)
