"""The live line charts: `ColumnsWidget` with float32 series."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.views.charts.columns import Columns
from ftlab.views.charts.columns_widget import ColumnsWidget
from ftlab.views.charts.plan import Plan, front_end_panels
from ftlab.views.front_end import front_end


class LinesWidget(ColumnsWidget):
    """Panels of line charts over steps."""

    name = "lines"
    _esm = front_end("charts/columns.js", "charts/chart.js", "charts/lines.js")
    _css = front_end("style.css")

    def __init__(self, title: str, plan: Plan, columns: Columns) -> None:
        self._title = title
        super().__init__(columns, as_is, _spec(title, plan), _rows(plan))

    def follow(self, plan: Plan, columns: Columns) -> None:
        """Show other series from now on."""
        with self.hold_sync():
            self.spec = _spec(self._title, plan)
            self.replace(columns, as_is, _rows(plan))


def as_is(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Send float32 values as they are."""
    return np.ascontiguousarray(values, np.float32)


def _spec(title: str, plan: Plan) -> dict[str, Any]:
    return {
        "title": title,
        "panels": front_end_panels(plan),
        "compact": plan.compact,
        "minimum": plan.minimum,
    }


def _rows(plan: Plan) -> list[dict[str, Any]]:
    return [{"row": name} for name in plan.rows]
