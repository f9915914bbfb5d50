"""Block tables as layer x step matrices: what all heatmaps follow a run with.

A `LayerColumns` reads the table ``tensors`` into bounded `Columns`; subclasses say what
a column holds. Who calls whom: a view calls `LayerColumns.follow` whenever it wants to
know what is new, and gives the columns to its widget, which calls `encode`.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.records.names import NameRecord
from ftlab.runlog.matrix import Matrix, Wanted
from ftlab.runlog.run import Run
from ftlab.views.charts.columns import Columns
from ftlab.views.charts.scale import NOT_RECORDED

Floats = NDArray[np.float32]
COLUMN_BUDGET = 4_000_000
"""Values kept in memory for a heatmap: fewer columns where there are many rows."""
RAW_BUDGET, DISK_BUDGET = 4_000_000, 16_000_000
"""Values read step by step, from memory or a folder; beyond, roll-ups are read."""
CHUNK, CHUNK_VALUES = 512, 2**17
"""Lines, and values of one column, that are read at a time."""
MOST_COLUMNS = 2048


def model_order(names: Sequence[NameRecord]) -> tuple[str, ...]:
    """Return the layers in the order in which their parameters stand in the model."""
    return tuple(dict.fromkeys(record.layer for record in names))


class LayerColumns:
    """Follows statistics of a run's layers and parameters.

    Attributes
    ----------
    columns
        Rows are whatever `width` counts, in the order in which `block` gives them.
    names, layers, layer_of
        One record per parameter, the layers in the model's order, and the index into
        them of each parameter.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._rebuild()

    def width(self) -> int:
        """Return the number of rows of `columns`."""
        raise NotImplementedError

    def block(self, start: int, stop: int) -> tuple[NDArray[np.int64], Floats]:
        """Read the steps in ``[start, stop)`` and their columns."""
        raise NotImplementedError

    def spec(self) -> dict[str, Any]:
        """Return what the front end needs to know once."""
        raise NotImplementedError

    def encode(self, values: Floats) -> NDArray[np.uint16]:
        """Turn columns into codes: per statistic the layers, then the parameters."""
        raise NotImplementedError

    def rows(self) -> list[dict[str, Any]]:
        """Name the front end's rows, which stand once for each statistic."""
        layers: list[dict[str, Any]] = [{"layer": name} for name in self.layers]
        return layers + [
            {"parameter": record.name, "in": layer}
            for record, layer in zip(self.names, self.layer_of.tolist(), strict=True)
        ]

    def follow(self) -> bool:
        """Read what is new; True when there are new rows (and so new columns)."""
        last = self._run.last_step
        if last < self._next:
            return False
        grown = self._signature() != self._built
        if grown:
            self._rebuild()
        self._read(last)
        return grown

    def _signature(self) -> Hashable:
        """Return what tells that the rows are others than before."""
        return len(self._run.names("tensors"))

    def _make_columns(self, capacity: int) -> Columns:
        return Columns(
            self.width(),
            capacity=capacity,
            empty=NOT_RECORDED,
            stride=self._resolution,
        )

    def _rebuild(self) -> None:
        self._built = self._signature()
        by_id = self._run.names("tensors")
        self.names = tuple(by_id[key] for key in sorted(by_id))
        self.layers = model_order(self.names)
        place = {layer: index for index, layer in enumerate(self.layers)}
        self.layer_of = np.array([place[one.layer] for one in self.names], np.int64)
        self._ids = np.array([record.id for record in self.names], np.int32)
        order = np.argsort(self.layer_of, kind="stable")
        self._starts = np.searchsorted(
            self.layer_of[order], np.arange(len(self.layers))
        )
        sorted_already = np.array_equal(order, np.arange(len(order)))
        self._order = slice(None) if sorted_already else order
        self._resolution = self._choose_resolution()
        room = COLUMN_BUDGET // max(self.width(), 1) // 2 * 2
        self.columns = self._make_columns(max(128, min(MOST_COLUMNS, room)))
        self._next = 0

    def _choose_resolution(self) -> int:
        values = (self._run.last_step + 1) * max(len(self.names), 1)
        budget = RAW_BUDGET if self._run.path is None else DISK_BUDGET
        if values <= budget:
            return 1
        return 64 if values <= 64 * budget else 4096

    def _read(self, last: int) -> None:
        while self._next <= last and self.names:
            lines = max(16, min(CHUNK, CHUNK_VALUES // len(self.names)))
            stop = min(last + 1, self._next + lines * self._resolution)
            self.columns.extend(*self.block(self._next, stop))
            self._next = stop
        self._resolution = 1

    def matrices(self, columns: Wanted, start: int, stop: int) -> dict[str, Matrix]:
        """Read columns of the table, as fine as the run's length allows."""
        fine = self._resolution
        return self._run.matrices(columns, "tensors", (start, stop), fine)

    def place(self, values: NDArray[Any], matrix: Matrix, empty: Any) -> NDArray[Any]:
        """Put a matrix's rows into the order of `names`."""
        if np.array_equal(matrix.ids, self._ids):
            return values
        placed = np.full((len(values), len(self.names)), empty)
        known = np.isin(matrix.ids, self._ids)
        at = np.searchsorted(self._ids, matrix.ids[known])
        placed[:, at] = values[:, known]
        return placed

    def by_layer(self, how: np.ufunc, values: NDArray[np.floating]) -> Floats:
        """Reduce values of shape ``(steps, parameters)`` to ``(steps, layers)``."""
        reduced: Floats = how.reduceat(values[:, self._order], self._starts, axis=1)
        return reduced

    def count_by_layer(self, flags: NDArray[np.bool_]) -> Floats:
        """Count those of each layer's parameters for which a flag is set."""
        if flags.all() or not flags.any():
            sizes = np.diff(self._starts, append=len(self.names))
            whole = sizes if flags.any() else np.zeros_like(sizes)
            return np.tile(whole.astype(np.float32), (len(flags), 1))
        return self.by_layer(np.add, flags.astype(np.float32))
