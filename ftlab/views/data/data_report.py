"""The data view: what a look at every row of a dataset has found."""

from typing import Any

from ftlab.records.data_scan import DataScan
from ftlab.views.data.data_figure import draw_data, height_of
from ftlab.views.data.data_html import data_html
from ftlab.views.data.data_words import data_words, found_words
from ftlab.views.drawn import Canvas, DataFrame
from ftlab.views.view import Rows, View

COLUMNS = (
    "kind",
    "severity",
    "row",
    "place",
    "column",
    "character",
    "says",
    "excerpt",
)

ISSUE_COLUMNS = (
    "code",
    "kind",
    "severity",
    "rows",
    "share",
    "message",
    "cause",
    "fix",
    "left_out",
)


class DataView(View[DataScan]):
    """Faults of a dataset by kind, with their places, and the lengths of its rows.

    ``table()`` holds a line for each place that is kept, ``issues()`` one for each kind
    of fault, ``lengths()`` one for each length.

    Parameters
    ----------
    scan
        What was found.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.records.data_scan import DataScan, Lengths
    >>> from ftlab.views.data.data_report import DataView
    >>> lengths = Lengths("tokens", np.array([4, 9]), np.array([1, 2]), 22)
    >>> scan = DataScan("rows", 3, {"text": 3}, {}, (), lengths)
    >>> DataView(scan)
    Data: rows, 3 rows (text 3): nothing found
    Lengths in tokens: half up to 9, 95 % up to 9, longest 9; 22 in all
    """

    title = "Data"
    headings = COLUMNS

    def __init__(self, scan: DataScan) -> None:
        super().__init__(scan)
        self._scan = scan

    def headline(self) -> str:
        """Return how many rows there are, and what was found, in one line."""
        return f"{self._scan.rows:,} rows, {found_words(self._scan)}"

    def _table(self, summary: DataScan) -> Rows:
        return [
            (
                issue.name,
                issue.severity.label,
                spot.row,
                spot.place,
                spot.column,
                spot.char,
                spot.says,
                spot.excerpt,
            )
            for issue in summary.issues
            for spot in issue.spots
        ]

    def issues(self) -> DataFrame:
        """Return the kinds of faults, worst first; `ftlab.explain(code)` says more."""
        import pandas as pd

        rows = [
            (
                i.code,
                i.name,
                i.severity.label,
                i.rows,
                i.share,
                i.message,
                i.cause,
                i.fix,
                i.left_out,
            )
            for i in self._scan.issues
        ]
        return pd.DataFrame(rows, columns=list(ISSUE_COLUMNS))

    def lengths(self) -> DataFrame:
        """Return how many rows have which length."""
        import pandas as pd

        known = self._scan.lengths
        return pd.DataFrame({known.unit: known.sizes, "rows": known.rows})

    def size_of(self, summary: DataScan) -> tuple[float, float]:
        """Return width and height in inches, by how many kinds of faults there are."""
        return 9.0, height_of(summary)

    def draw_on(self, figure: Canvas, summary: DataScan) -> None:
        """Draw lengths beside the limit, and the share of rows with each fault."""
        draw_data(figure, summary)

    def _text(self, summary: DataScan) -> str:
        return data_words(summary)

    def _make_widget(self) -> Any:
        import ipywidgets

        widget = ipywidgets.HTML(data_html(self.summary))
        widget.add_class("ftlab-data")
        return widget
