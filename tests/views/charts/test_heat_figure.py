import numpy as np

from ftlab.views.charts.heat_figure import HeatPicture, draw_heat
from ftlab.views.charts.scale import GRADIENT, colours, quantise
from ftlab.views.view import new_figure


def drawn(values, **fields):
    codes = quantise(np.array(values, float))[:, None]
    steps = np.arange(len(codes))
    figure = new_figure(9.0, 3.0)
    draw_heat(figure, HeatPicture("Test", ("layers.0",), steps, codes, **fields))
    return figure.axes[0].images[0].get_array()[0]


def test_of_a_thousand_columns_the_smallest_stays_where_it_counts():
    values = np.ones(1000)
    values[501] = 1e-3
    low, high = (drawn(values, smallest=flag) for flag in (True, False))
    expected = colours(quantise(1e-3), GRADIENT)
    assert (low == expected).all(1).sum() == 1
    assert not (high == expected).all(1).any()


def test_a_nan_is_seen_before_the_smallest_and_nothing_is_not():
    values = np.ones(1000)
    values[501], values[601] = np.nan, -2.0
    pixels = drawn(values, smallest=True)
    assert (pixels == colours(quantise(np.nan))).all(1).sum() == 1
    assert (pixels[:, 3] == 255).all()
