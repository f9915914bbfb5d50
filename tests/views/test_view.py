from dataclasses import dataclass

import pytest
from matplotlib.figure import Figure

from ftlab.records.settings import options
from ftlab.views.view import View, new_figure, png, widget_mode


@dataclass(frozen=True)
class Length:
    length: int


class LengthView(View[Length]):
    title = "Length"

    def __init__(self, source):
        super().__init__()
        self.source = source
        self.summaries = 0

    def _adopt(self, run):
        self.source = run

    def _stamp(self):
        return len(self.source)

    def _summarise(self):
        self.summaries += 1
        return Length(len(self.source))

    def _table(self, summary):
        import pandas as pd

        return pd.DataFrame({"length": [summary.length]})

    def draw_on(self, figure, summary):
        figure.text(0.5, 0.5, str(summary.length))

    def _text(self, summary):
        return f"Length: {summary.length}"


def test_all_forms_share_one_summary():
    view = LengthView([1, 2])
    assert (repr(view), view.table()["length"].item()) == ("Length: 2", 2)
    assert isinstance(view.figure(), Figure)
    assert view.summaries == 1


def test_a_grown_source_gives_a_new_summary():
    view = LengthView([1])
    assert repr(view) == "Length: 1"
    view.source.append(2)
    assert repr(view) == "Length: 2"


def test_another_source_is_read_even_if_it_looks_the_same():
    view = LengthView([1])
    assert view.summary == Length(1)
    view.show([2])
    assert view.summaries == 1
    assert view.summary == Length(1)
    assert view.summaries == 2


def test_refreshing_without_a_widget_reads_nothing():
    view = LengthView([1])
    view.refresh()
    view.settle()
    assert view.summaries == 0


def test_a_view_without_a_front_end_of_its_own_is_a_picture():
    view = LengthView([1])
    widget = view.widget()
    assert bytes(widget.value).startswith(b"\x89PNG")
    assert view.widget() is widget
    widget.close()


@pytest.mark.parametrize("mode", ["anywidget", "image", "static"])
def test_the_option_decides_how_views_show_themselves(mode):
    assert widget_mode() == "anywidget"
    with options.scoped(widgets=mode):
        assert widget_mode() == mode


def test_equal_figures_are_equal_files():
    pictures = []
    for _ in range(2):
        figure = new_figure(2, 1)
        figure.text(0.1, 0.5, "same")
        pictures.append(png(figure))
    assert pictures[0] == pictures[1]


def test_figures_are_made_without_pyplot():
    import subprocess
    import sys

    code = (
        "import sys; from ftlab.runlog.run import Run; "
        "from ftlab.views.dashboard.dashboard import Dashboard; "
        "Dashboard(Run()).figure(); print('matplotlib.pyplot' in sys.modules)"
    )
    made = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert made.stdout.strip() == "False"
