"""Views made of line charts over steps: what a panel is, and how it is drawn.

`LinesView` follows a run into bounded `Columns` and shows them as panels, in the
browser (``lines.js``) and as a picture from the same description.
"""

from collections.abc import Hashable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ftlab.runlog.run import Run
from ftlab.views.charts.columns import Columns, by_row
from ftlab.views.charts.lines_figure import draw_panels
from ftlab.views.charts.plan import LinesSummary, Plan
from ftlab.views.charts.small_multiples import shape_of
from ftlab.views.drawn import Canvas
from ftlab.views.view import Rows, View

Kind = Literal["line", "plan", "dots", "mark", "low", "high"]
CAPACITY = 1024


class LinesView(View[LinesSummary]):
    """A view of line charts; subclasses say what to draw and where it comes from."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self._run = run
        self._plan: Plan | None = None
        self._columns = Columns(0)
        self._next = 0

    def _adopt(self, run: Run) -> None:
        self._run = run
        self._plan = None

    def _make_plan(self) -> Plan:
        raise NotImplementedError

    def _read(self, start: int, stop: int) -> tuple[NDArray[np.int64], ArrayLike]:
        """Return the steps in ``[start, stop)`` and a value per step and row."""
        raise NotImplementedError

    def _notes(self) -> tuple[str, ...]:
        raise NotImplementedError

    def _data(self) -> Mapping[str, Any]:
        raise NotImplementedError

    def _stamp(self) -> Hashable:
        run = self._run
        return id(run), run.last_step, len(run.evaluations), self._make_plan()

    def _follow(self) -> None:
        plan = self._make_plan()
        if plan != self._plan:
            pool = by_row(list(plan.rows.values()))
            self._columns = Columns(
                len(plan.rows), capacity=CAPACITY, pool=pool, stride=plan.stride
            )
            self._plan = plan
            self._restart()
            self._read_new()
            if hasattr(self._widget, "follow"):
                self._widget.follow(plan, self._columns)
        else:
            self._read_new()

    def _restart(self) -> None:
        """Begin to read at the run's first step again."""
        self._next = 0

    def _read_new(self) -> None:
        last = self._run.last_step
        if last >= self._next:
            self._columns.extend(*self._read(self._next, last + 1))
            self._next = last + 1

    def _summarise(self) -> LinesSummary:
        self._follow()
        columns = self._columns
        return LinesSummary(
            self._plan or self._make_plan(),
            columns.first_steps,
            columns.stride,
            columns.values.copy(),
            self._notes(),
            self._data(),
        )

    def _make_widget(self) -> Any:
        from ftlab.views.charts.lines_widget import LinesWidget

        self._follow()
        widget = LinesWidget(self.title, self._plan or self._make_plan(), self._columns)
        widget.say(self._notes())
        return widget

    def _refresh_widget(self, widget: Any) -> None:
        before = self._next, self._plan
        self._follow()
        widget.flush()
        if before != (self._next, self._plan):
            widget.say(self._notes())

    def _table(self, summary: LinesSummary) -> Rows:
        return dict(summary.data)

    def size_of(self, summary: LinesSummary) -> tuple[float, float]:
        """Return width and height that a drawing needs, in inches."""
        if not summary.plan.compact:
            return 9.0, 2.5
        across, down = shape_of(len(summary.plan.panels))
        return 9.0, 0.75 + down * (0.85 if across > 4 else 1.5)

    def draw_on(self, figure: Canvas, summary: LinesSummary) -> None:
        """Draw ``summary`` on a figure, or on a part of one."""
        draw_panels(figure, self.title, summary)
