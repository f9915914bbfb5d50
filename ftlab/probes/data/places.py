"""Where a row is, by its number over all sources."""

from array import array
from bisect import bisect_right

from ftlab.probes.data.files.entries import Source
from ftlab.records.printable import printable


class Places:
    """Keeps a mark only where rows and lines do not go on side by side.

    Examples
    --------
    >>> from ftlab.probes.data.files.entries import Source
    >>> from ftlab.probes.data.places import Places
    >>> places = Places([Source("a.jsonl", "line", list)])
    >>> for row, line in enumerate((1, 2, 5)):
    ...     places.add(row, 0, line)
    >>> places[1], places[2]
    ('line 2', 'line 5')
    """

    def __init__(self, sources: list[Source]) -> None:
        self._sources = sources
        self._rows, self._owners, self._shifts = array("q"), array("q"), array("q")
        self._last = (-1, 0)

    def add(self, row: int, source: int, at: int) -> None:
        """Tell where the next row is."""
        if (source, at - row) != self._last:
            self._last = source, at - row
            self._rows.append(row)
            self._owners.append(source)
            self._shifts.append(at - row)

    def __getitem__(self, row: int) -> str:
        mark = bisect_right(self._rows, row) - 1
        source = self._sources[self._owners[mark]]
        place = f"{source.unit} {row + self._shifts[mark]}"
        several = len(self._sources) > 1
        return f"{place} of {printable(source.name)}" if several else place
