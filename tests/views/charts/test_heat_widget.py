import math

import numpy as np

from ftlab.views.charts.heat_widget import HeatWidget
from ftlab.views.charts.scale import quantise
from ftlab.views.layers.gradients_summary import GradientColumns
from tests.views.sample import add_step, named


def test_the_front_end_holds_layers_and_parameters_by_norm_and_max():
    run = named(2, 2)
    add_step(run, 0, [3.0, 4.0, 0.0, math.nan], [1.0, 2.0, 0.0, math.nan])
    gradients = GradientColumns(run)
    gradients.follow()
    widget = HeatWidget(gradients)
    head = np.frombuffer(widget.snap[:32], np.int32)
    assert head.tolist() == [0, 12, 1, 0, 1, 0, 0, 0]
    codes = np.frombuffer(widget.snap[32:], np.uint16)
    nan = math.nan
    expected = [5.0, nan, 3.0, 4.0, 0.0, nan, 2.0, nan, 1.0, 2.0, 0.0, nan]
    assert codes.tolist() == quantise(expected).tolist()
    assert [row.get("in") for row in widget.rows] == [None, None, 0, 0, 1, 1]
    assert widget.spec["statistics"] == ["norm", "max"]
    widget.close()


def test_a_column_costs_two_bytes_per_row(monkeypatch):
    run = named(2, 2)
    gradients = GradientColumns(run)
    widget = HeatWidget(gradients)
    widget._snap_due = float("inf")
    sent = []
    monkeypatch.setattr(widget, "send", lambda _, buffers: sent.append(buffers[0]))
    add_step(run, 0, [1.0, 1.0, 1.0, 1.0])
    gradients.follow()
    widget.flush()
    add_step(run, 1, [1.0, 1.0, 1.0, 1.0])
    gradients.follow()
    widget.flush()
    assert len(sent[-1]) == 2 * 12
    widget.close()
