"""The data view's forms."""

from ftlab.records.settings import options
from ftlab.views.data.data_report import COLUMNS, DataView
from ftlab.views.data.data_words import data_words
from tests.views.data.scans import HEALTHY, SCAN


def test_tables_hold_places_kinds_and_lengths():
    view = DataView(SCAN)
    table = view.table()
    assert list(table.columns) == list(COLUMNS)
    assert len(table) == 31
    assert table.iloc[0].tolist() == [
        "invisible-character",
        "warning",
        0,
        "line 1",
        "text",
        3,
        "U+200B",
        "<b>0</b> $x$",
    ]
    assert view.issues()["rows"].tolist() == [40, 1]
    assert view.issues()["left_out"].tolist() == [False, True]
    assert view.lengths()["rows"].sum() == 1000
    assert len(DataView(HEALTHY).table()) == 0


def test_the_text_is_the_same_each_time():
    view = DataView(SCAN)
    assert repr(view) == repr(view) == data_words(SCAN)
    assert view.headline() == "1,000 rows, 1 warning, 1 note"


def test_a_notebook_gets_text_picture_and_widget():
    view = DataView(SCAN)
    data, _ = view._repr_mimebundle_()
    assert {"text/plain", "image/png"} <= set(data)
    assert "application/vnd.jupyter.widget-view+json" in data
    assert "invisible-character" in view.widget().value
    with options.scoped(widgets="image"):
        assert bytes(DataView(SCAN).widget().value).startswith(b"\x89PNG")
