"""The shape of a heatmap view: layer x step, live in one widget.

`HeatView` follows a run with `LayerColumns` and keeps the widget up to date; subclasses
say what the table, the text and the picture hold.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ftlab.records.errors import BadValueError
from ftlab.records.names import NameRecord
from ftlab.runlog.run import Run
from ftlab.views.charts.layer_columns import LayerColumns
from ftlab.views.drawn import DataFrame
from ftlab.views.view import View

TEXT_LAYERS = 12


class _Layered(Protocol):
    @property
    def layers(self) -> tuple[str, ...]: ...
    @property
    def names(self) -> tuple[NameRecord, ...]: ...


S = TypeVar("S", bound=_Layered)


class HeatView(View[S]):
    """A view over `LayerColumns`."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self._run = run
        self._columns = self._make_columns(run)

    def _make_columns(self, run: Run) -> LayerColumns:
        raise NotImplementedError

    def _note_now(self) -> str:
        """Return the remark below the heatmap, as of the last column."""
        raise NotImplementedError

    def _parameter_columns(self, summary: S) -> Mapping[str, Any]:
        """Return what the table says of each parameter."""
        raise NotImplementedError

    def _table_by(self, by: str) -> DataFrame:
        import pandas as pd

        if by not in ("layer", "parameter"):
            msg = f"table(by={by!r}): allowed are 'layer' and 'parameter'."
            raise BadValueError(msg)
        summary = self.summary
        if by == "layer":
            return self._table(summary)
        columns = {
            "parameter": [record.name for record in summary.names],
            "layer": [record.layer for record in summary.names],
            "role": [record.meta.get("role", "") for record in summary.names],
        }
        return pd.DataFrame({**columns, **self._parameter_columns(summary)})

    def size_of(self, summary: S) -> tuple[float, float]:
        """Return width and height that a drawing needs, in inches."""
        return 9.0, 1.6 + max(0.8, min(4.5, 0.22 * len(summary.layers)))

    def _adopt(self, run: Run) -> None:
        self._run = run
        self._columns = self._make_columns(run)
        self._columns.follow()
        if hasattr(self._widget, "follow"):
            self._widget.follow(self._columns)

    def _stamp(self) -> Hashable:
        return id(self._run), self._run.last_step, len(self._run.names("tensors"))

    def _follow(self) -> None:
        grown = self._columns.follow()
        if grown and hasattr(self._widget, "follow"):
            self._widget.follow(self._columns)

    def _make_widget(self) -> Any:
        from ftlab.views.charts.heat_widget import HeatWidget

        self._follow()
        return HeatWidget(self._columns)

    def _refresh_widget(self, widget: Any) -> None:
        self._follow()
        widget.flush()
        widget.say([self._note_now()])


def layer_table(
    steps: NDArray[np.int64], layers: Sequence[str], columns: Mapping[str, NDArray[Any]]
) -> DataFrame:
    """Give each step and layer a row; columns are of shape ``(steps, layers)``."""
    import pandas as pd

    data = {
        "step": np.repeat(steps, len(layers)),
        "layer": np.tile(np.array(layers, object), len(steps)),
    }
    return pd.DataFrame(data | {name: each.ravel() for name, each in columns.items()})


def layer_lines(
    head: Sequence[str], layers: Sequence[str], words: Callable[[int], Sequence[str]]
) -> list[str]:
    """Give the first layers a line each, and say how many more there are."""
    rows = [("layer", *head)]
    rows += [(layer, *words(at)) for at, layer in enumerate(layers[:TEXT_LAYERS])]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join([name.ljust(widths[0]), *map(str.rjust, cells, widths[1:])]).rstrip()
        for name, *cells in rows
    ]
    hidden = len(layers) - TEXT_LAYERS
    return [*lines, *[f"... and {hidden} more layers in .table()"] * (hidden > 0)]
