"""The shape of a heatmap view: layer x step, live in one widget.

`HeatView` follows a run with `LayerColumns` and keeps the widget up to date; subclasses
say what the table, the text and the picture hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ftlab.views.view import View

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from ftlab.runlog.run import Run
    from ftlab.views.charts.layer_columns import LayerColumns

S = TypeVar("S")


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


def height_of(layers: int) -> float:
    """Return how high a picture of so many layers is, in inches."""
    return 1.6 + max(0.8, min(4.5, 0.22 * layers))


def aligned(lines: Sequence[tuple[str, ...]]) -> list[str]:
    """Set lines of words as columns, the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if index == 0 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
