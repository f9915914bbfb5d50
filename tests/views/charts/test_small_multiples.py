import numpy as np

from ftlab.views.charts.small_multiples import Cell, shape_of


def test_few_charts_stand_in_a_row_and_many_in_a_grid():
    assert shape_of(0) == (1, 1)
    assert shape_of(2) == (2, 1)
    assert shape_of(6) == (3, 2)
    assert shape_of(80) == (8, 10)


def test_values_outside_the_range_stay_inside_their_chart():
    cell = Cell(2, 3, (0.0, 100.0), (-2.0, 1.0))
    with np.errstate(all="raise", divide="ignore"):
        heights = cell.y(np.array([0.0, 1e-9, 0.01, 10.0, 1e9]))
    assert ((heights > 3) & (heights < 4)).all()
    assert heights[0] == heights[1] == heights[2] > heights[3] == heights[4]


def test_one_step_and_one_value_do_not_divide_by_zero():
    cell = Cell(0, 0, (5.0, 5.0), (0.0, 0.0))
    assert np.isfinite(cell.x(np.array([5]))).all()
    assert np.isfinite(cell.y(np.array([1.0]))).all()
