"""A table on its way to disk: its segments, and the columns it has had so far."""

from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa

from ftlab.runlog.segment import Segments

Build = Callable[[Sequence[str]], pa.Schema]


class Sheet:
    """Columns only ever join: a new one begins a new segment that has all of them.

    Parameters
    ----------
    build
        Makes the Arrow schema from the names of the columns.
    """

    def __init__(self, segments: Segments, build: Build) -> None:
        self.segments = segments
        self._build = build
        self._columns: dict[str, None] = {}
        self._schema: pa.Schema | None = None

    def add(
        self, names: Iterable[str], batch: Callable[[pa.Schema], pa.RecordBatch]
    ) -> None:
        """Queue what ``batch`` makes of the schema, which has at least ``names``."""
        new = [name for name in names if name not in self._columns]
        if new or self._schema is None:
            self._columns.update(dict.fromkeys(new))
            self._schema = self._build(tuple(self._columns))
        self.segments.add(batch(self._schema), self._schema)
