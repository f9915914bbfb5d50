import numpy as np
import pytest

from ftlab.views.charts.columns import Columns, MeasuredColumns, by_row


def dumb(series, stride, how):
    """Pool ``series`` by slices of ``stride`` steps."""
    return [how(series[at : at + stride]) for at in range(0, len(series), stride)]


@pytest.mark.parametrize("length", [1, 7, 8, 9, 16, 31, 100])
def test_pools_to_the_largest_of_each_stretch(length):
    series = np.random.default_rng(length).normal(size=length).astype(np.float32)
    columns = Columns(1, capacity=8)
    for step, value in enumerate(series):
        columns.put(step, [value])
    assert columns.count <= 8
    assert columns.values[:, 0].tolist() == dumb(series.tolist(), columns.stride, max)
    assert columns.first_steps.tolist() == list(range(0, length, columns.stride))


def test_nan_wins_over_every_value():
    columns = Columns(1, capacity=2)
    for step, value in enumerate([1.0, np.nan, np.inf, 2.0]):
        columns.put(step, [value])
    assert np.isnan(columns.values[0, 0])
    assert columns.values[1, 0] == np.inf


def test_each_row_is_pooled_in_its_own_way():
    kinds = ["largest", "smallest", "mean", "latest"]
    columns = Columns(4, capacity=4, pool=by_row(kinds))
    series = np.random.default_rng(0).normal(size=11).astype(np.float32)
    for step, value in enumerate(series):
        columns.put(step, [value] * 4)
    parts = [series[at : at + columns.stride] for at in range(0, 11, columns.stride)]
    for row, how in enumerate([np.max, np.min, np.mean, lambda part: part[-1]]):
        expected = [how(part) for part in parts]
        np.testing.assert_allclose(columns.values[:, row], expected, rtol=1e-5)


def test_what_was_not_recorded_never_wins_over_what_was():
    for kind in ("largest", "smallest", "mean", "latest"):
        columns = Columns(1, capacity=2, pool=by_row([kind]))
        for step, value in enumerate([5.0, np.nan, np.nan, 7.0]):
            columns.put(step, [value])
        assert columns.values[:, 0].tolist() == [5.0, 7.0], kind


def test_steps_that_are_missing_stay_empty():
    columns = Columns(1, capacity=8, empty=-2)
    columns.put(10, [1.0])
    columns.put(13, [4.0])
    assert columns.first_steps.tolist() == [10, 11, 12, 13]
    assert columns.values[:, 0].tolist() == [1.0, -2.0, -2.0, 4.0]


def test_a_far_step_pools_until_it_fits():
    columns = Columns(1, capacity=4)
    columns.put(0, [1.0])
    columns.put(1000, [2.0])
    assert columns.stride == 256
    assert columns.values[[0, 3], 0].tolist() == [1.0, 2.0]


def test_a_patch_holds_only_what_is_new():
    columns = Columns(1, capacity=8)
    columns.put(0, [1.0])
    assert columns.take_patch().whole
    assert columns.take_patch() is None
    columns.put(1, [2.0])
    columns.put(2, [3.0])
    patch = columns.take_patch()
    assert (patch.whole, patch.at, patch.values.tolist()) == (False, 1, [[2.0], [3.0]])


def test_a_column_that_got_another_step_is_sent_again():
    columns = Columns(1, capacity=4)
    for step in range(5):
        columns.put(step, [step])
    assert columns.take_patch().whole
    columns.put(5, [9.0])
    patch = columns.take_patch()
    assert (patch.at, patch.values.tolist()) == (2, [[9.0]])


def test_pooling_makes_the_next_patch_whole():
    columns = Columns(1, capacity=4)
    for step in range(4):
        columns.put(step, [step])
    columns.take_patch()
    columns.put(4, [4.0])
    patch = columns.take_patch()
    assert patch.whole
    assert patch.values.ravel().tolist() == [1.0, 3.0, 4.0]


def test_a_step_before_the_first_is_left_out():
    columns = Columns(1)
    columns.put(5, [1.0])
    columns.put(3, [9.0])
    assert columns.values.ravel().tolist() == [1.0]


@pytest.mark.parametrize("length", [5, 64, 1000])
def test_many_steps_at_once_equal_one_after_the_other(length):
    kinds = ["largest", "smallest", "mean", "latest"]
    series = np.random.default_rng(length).normal(size=(length, 4)).astype(np.float32)
    for row in (0, 1, 3):
        series[::7, row] = np.nan
    steps = np.sort(np.random.default_rng(1).choice(3 * length, length, False))
    at_once, in_turn = (Columns(4, capacity=16, pool=by_row(kinds)) for _ in range(2))
    at_once.extend(steps, series)
    for step, column in zip(steps.tolist(), series, strict=True):
        in_turn.put(step, column)
    assert at_once.stride == in_turn.stride
    np.testing.assert_allclose(at_once.values, in_turn.values, rtol=1e-4, atol=1e-6)


def test_a_patch_of_an_early_column_leaves_out_the_later_ones():
    columns = Columns(1, capacity=8)
    columns.extend(np.arange(6), np.zeros((6, 1)))
    columns.take_patch()
    columns.put(2, [5.0])
    patch = columns.take_patch()
    assert (patch.at, patch.values.tolist()) == (2, [[5.0]])


def test_a_column_of_measurements_knows_its_step_however_often_it_was_pooled():
    columns = MeasuredColumns(1, capacity=4)
    for step in (0, 1, 2, 4, 8, 16):
        columns.put(step, [step])
    assert columns.first_steps.tolist() == [0, 2, 8]
    assert columns.values.ravel().tolist() == [1.0, 4.0, 16.0]
