import numpy as np

from ftlab.views.charts.lines_figure import draw_panels
from ftlab.views.charts.plan import LinesSummary, Panel, Plan, Series
from ftlab.views.view import new_figure

LINE, PALE = Series("a", "had", "#2486c9"), Series("b", "asked", "#2486c9", "plan")


def drawn(*panels, notes=()):
    plan = Plan({"a": "latest", "b": "latest"}, panels)
    values = np.array([[2.0, 3.0], [np.nan, 4.0]], np.float32)
    summary = LinesSummary(plan, np.arange(2), 1, values, tuple(notes))
    figure = new_figure(9.0, 2.5)
    draw_panels(figure, "Test", summary)
    return figure


def test_remarks_beyond_the_panels_stand_below_them():
    figure = drawn(Panel("One", (LINE,)), notes=["of the panel", "costs $5", "and so"])
    assert figure.get_supxlabel() == r"costs \$5 and so"


def test_a_plan_is_wide_and_pale_behind_its_line():
    (axes,) = drawn(Panel("One", (PALE, LINE)), notes=[""]).axes
    wide, thin = axes.get_lines()
    assert wide.get_linewidth() > 3 * thin.get_linewidth()
    assert wide.get_alpha() < 0.5
    assert wide.get_xdata().tolist() == [0, 1]


def test_an_axis_reaches_down_to_its_floor():
    (axes,) = drawn(Panel("One", (PALE,), floor=0.0), notes=[""]).axes
    assert axes.get_ylim()[0] <= 0


def test_panels_share_their_steps():
    figure = drawn(Panel("One", (LINE,)), Panel("Two", (PALE,)), notes=["", ""])
    assert figure.axes[0].get_xlim() == figure.axes[1].get_xlim()
