"""The shape of a view: one summary, four forms.

A view reads its source (mostly a run), makes one frozen summary of it and shows that as
a table, a figure, a widget and a text. The forms only lay out what the summary holds.

Who calls whom: IPython asks `View._repr_mimebundle_` when a cell ends in a view; the
host's background thread calls `View.refresh` at most 5 times a second while the widget
is on screen. Both may happen at once, so everything that reads the source holds the
view's lock.

A view file holds a summary dataclass and a subclass, of `RunView` where it shows a run,
with `_stamp` (what tells an old summary from a new one, if it changes), `_summarise`,
`_table`, `draw_on`, `_text` and, for a live front end, `_make_widget` and
`_refresh_widget`.
"""

from __future__ import annotations

import base64
import importlib.util
import io
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from ftlab.records.printable import harmless
from ftlab.records.settings import options

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

    from ftlab.runlog.run import Run

S = TypeVar("S")
Rows = Iterable[Any] | Mapping[str, Any]
"""What a table is made of: its rows one by one, or its columns by name."""

_SILENT = np.errstate(all="ignore")
"""A run may hold any number; what NumPy remarks on it says nothing in a cell."""
PICTURE_SHARE = 0.05
"""The part of the time that redrawing a live picture may take (mode ``image``)."""


def widget_mode() -> str:
    """Return how views show themselves: ``anywidget``, ``image`` or ``static``."""
    if options.widgets != "auto":
        return options.widgets
    if importlib.util.find_spec("anywidget") is not None:
        return "anywidget"
    return "image" if importlib.util.find_spec("ipywidgets") is not None else "static"


def new_figure(width: float, height: float) -> Figure:
    """Make an empty figure on the Agg canvas, sizes in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure((width, height), dpi=100, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def png(figure: Figure) -> bytes:
    """Draw a figure made by `new_figure` as PNG."""
    buffer = io.BytesIO()
    # a version stamp in the file would change stored pictures with every matplotlib
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


class View(Generic[S]):
    """One subject, shown as a table, a figure, a widget and a text.

    Attributes
    ----------
    title
        What the view is about, in one or two words.
    headings
        Of the table's columns, where its rows do not name them themselves.
    """

    title: ClassVar[str] = ""
    headings: ClassVar[Sequence[str]] = ()

    def __init__(self, fixed: S | None = None) -> None:
        self._fixed = fixed
        self._lock = threading.RLock()
        self._cached: tuple[Hashable, S] | None = None
        self._widget: Any = None
        self._picture_due = 0.0

    @property
    @_SILENT
    def summary(self) -> S:
        """What all forms show; made anew when the source has changed."""
        with self._lock:
            stamp = self._stamp()
            if self._cached is None or self._cached[0] != stamp:
                self._cached = (stamp, self._summarise())
            return self._cached[1]

    def table(self) -> pd.DataFrame:
        """Return the view's numbers as a DataFrame."""
        import pandas as pd

        rows = self._table(self.summary)
        if isinstance(rows, pd.DataFrame):
            return rows
        return pd.DataFrame(rows, columns=list(self.headings) or None)

    def figure(self) -> Figure:
        """Return the view as a matplotlib figure, drawn without pyplot."""
        summary = self.summary
        figure = new_figure(*self.size_of(summary))
        self.draw_on(figure, summary)
        return figure

    def headline(self) -> str:
        """Return in one line what the view says; empty when there is nothing to show.

        Read at every refresh of a dashboard, so it must cost next to nothing.
        """
        return ""

    @_SILENT
    def widget(self) -> Any:
        """Return the view's one live widget; `refresh` keeps it up to date.

        It is an ``anywidget`` or, where options say so, a picture that is redrawn.
        """
        with self._lock:
            if self._widget is None:
                live = widget_mode() == "anywidget"
                self._widget = self._make_widget() if live else self._make_picture()
            return self._widget

    @_SILENT
    def refresh(self) -> None:
        """Bring the widget up to date; without a widget this costs nothing."""
        with self._lock:
            if self._widget is None:
                return
            if hasattr(self._widget, "ftlab_picture"):
                self._refresh_picture(self._widget)
            else:
                self._refresh_widget(self._widget)

    def settle(self) -> None:
        """Store the complete state in the widget, at a pause and at the end of a run.

        A page that was reloaded while the kernel was busy is whole again after it.
        """
        self._picture_due = 0.0
        self.refresh()
        with self._lock:
            if hasattr(self._widget, "settle"):
                self._widget.settle()

    def show(self, run: Run) -> None:
        """Show another run from now on, in the same widget."""
        with self._lock:
            self._cached = None
            self._adopt(run)

    def _adopt(self, run: Run) -> None:
        """Take ``run`` as the source."""
        raise NotImplementedError

    def _stamp(self) -> Hashable:
        """Tell an old summary from a new one; what never changes needs none."""
        return 0

    def _summarise(self) -> S:
        """Return what is shown; by default what the view was made of."""
        if self._fixed is None:
            raise NotImplementedError
        return self._fixed

    def _table(self, summary: S) -> Rows | pd.DataFrame:
        raise NotImplementedError

    def size_of(self, summary: S) -> tuple[float, float]:
        """Return width and height that a drawing needs, in inches."""
        return (9.0, 3.2)

    def draw_on(self, figure: Figure | SubFigure, summary: S) -> None:
        """Draw ``summary`` on a figure, or on a part of one."""
        raise NotImplementedError

    def _text(self, summary: S) -> str:
        raise NotImplementedError

    def _make_widget(self) -> Any:
        return self._make_picture()

    def _refresh_widget(self, widget: Any) -> None:
        """Send what is new; the default suits widgets that need nothing."""

    def _make_picture(self) -> Any:
        import ipywidgets

        picture = ipywidgets.Image(format="png", value=png(self.figure()))
        picture.add_class("ftlab-picture")
        picture.ftlab_picture = self._stamp()
        return picture

    def _refresh_picture(self, picture: Any) -> None:
        began = time.monotonic()
        if began < self._picture_due or picture.ftlab_picture == self._stamp():
            return
        picture.ftlab_picture = self._stamp()
        picture.value = png(self.figure())
        took = time.monotonic() - began
        self._picture_due = began + max(1.0, took / PICTURE_SHARE)

    def __repr__(self) -> str:
        return str(harmless(self._text(self.summary)))

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None, **_: Any
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        data = {
            "text/plain": repr(self),
            "image/png": base64.b64encode(png(self.figure())).decode(),
        }
        metadata: dict[str, Any] = {}
        if widget_mode() != "static":
            data, metadata = with_widget(data, self.widget())
        return data, metadata


class RunView(View[S]):
    """A view of a run, made anew when the run has grown."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self._run = run

    def _adopt(self, run: Run) -> None:
        self._run = run

    def _stamp(self) -> Hashable:
        return id(self._run), self._run.version


def with_widget(
    data: dict[str, Any], widget: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Add a widget's view to a bundle of static forms, which saved notebooks keep."""
    made = widget._repr_mimebundle_()
    live, metadata = made if isinstance(made, tuple) else (made, {})
    key = "application/vnd.jupyter.widget-view+json"
    bundle = {key: live[key]} if live and key in live else {}
    return {**bundle, **data}, dict(metadata or {})
