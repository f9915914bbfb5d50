import math

import numpy as np

from ftlab.records.names import NameRecord
from ftlab.records.step import Block, StepRecord
from ftlab.runlog.run import Run
from ftlab.views.charts.columns import MeasuredColumns
from ftlab.views.charts.scale import GRADIENT, SHARE
from ftlab.views.layers.layer_statistics import MeasuredLayers, Statistic, worse_of
from tests.views.sample import add_measured, named

NONE, ABSENT = -2.0, -1.0


def statistic(layer, *reads, absent_nan=False):
    scale = SHARE if layer == "mean" else GRADIENT
    return Statistic("it", "it", "it", reads, scale, layer, absent_nan)


def levels(run, one):
    """Return the last column's layers and parameters."""
    followed = MeasuredLayers(run, "Test", [one])
    followed.follow()
    summary = followed.freeze()
    return summary.layer_values["it"][-1], summary.parameter_values["it"][-1]


def one_layer(**columns):
    run = named(1, 3)
    add_measured(run, 0, 3, **columns)
    return run


def test_layers_equal_a_dumb_computation():
    values = 10 ** np.random.default_rng(0).uniform(-6, 0, 3)
    run = one_layer(moment1_l2=values)
    dumb = {
        "root": math.sqrt(sum(float(each) ** 2 for each in values)),
        "mean": sum(map(float, values)) / 3,
        "smallest": min(values),
        "largest": max(values),
    }
    for how, expected in dumb.items():
        layers, each = levels(run, statistic(how, "moment1_l2"))
        np.testing.assert_allclose(layers, [expected], rtol=1e-6)
        np.testing.assert_allclose(each, values, rtol=1e-6)


def test_a_ratio_is_of_the_norms_of_the_whole_layer():
    run = one_layer(update_l2=[3.0, 4.0, 0.0], weight_l2=[0.0, 6.0, 8.0])
    layers, each = levels(run, statistic("root", "update_l2", "weight_l2"))
    np.testing.assert_allclose(layers, [0.5])
    np.testing.assert_allclose(each, [ABSENT, 4 / 6, 0.0], rtol=1e-6)


def test_a_nan_is_a_nan_of_its_layer():
    for bad in (math.nan, math.inf):
        run = one_layer(moment1_l2=[1.0, bad, 1.0])
        layers, each = levels(run, statistic("root", "moment1_l2"))
        assert np.isnan(layers).all()
        assert np.isnan(each).tolist() == [False, True, False]


def test_a_nan_that_stands_for_nothing_is_left_out():
    run = one_layer(stuck_share=[0.5, math.nan, 1.0])
    layers, each = levels(run, statistic("mean", "stuck_share", absent_nan=True))
    assert (layers.tolist(), each.tolist()) == ([0.75], [0.5, ABSENT, 1.0])
    run = one_layer(stuck_share=math.nan)
    layers, _ = levels(run, statistic("mean", "stuck_share", absent_nan=True))
    assert layers.tolist() == [ABSENT]


def test_tensors_that_were_not_measured_are_not_shown():
    run = named(2, 1)
    one = np.ones(1, np.float32)
    run.append(Block("tensors", 0, np.zeros(1, np.int32), {"moment1_l2": one}))
    run.append(StepRecord(0, 0.0))
    layers, each = levels(run, statistic("root", "moment1_l2"))
    assert layers.tolist() == each.tolist() == [1.0, NONE]


def test_layers_without_neighbours_in_the_model_are_reduced_together():
    run = Run()
    for row, layer in enumerate(["a", "b", "a"]):
        run.append(NameRecord(row, "tensors", f"{layer}.{row}", "param", layer))
    add_measured(run, 0, 3, moment1_l2=[1.0, 2.0, 3.0])
    layers, _ = levels(run, statistic("largest", "moment1_l2"))
    assert layers.tolist() == [3.0, 2.0]


def test_a_column_that_comes_later_adds_its_statistic():
    first, second = statistic("root", "moment1_l2"), statistic("root", "moment2_l2")
    run = named(1, 1)
    followed = MeasuredLayers(run, "Test", [first, second])
    add_measured(run, 0, 1, moment1_l2=1.0)
    assert followed.follow()
    assert followed.statistics == (first,)
    add_measured(run, 1, 1, moment1_l2=1.0, moment2_l2=1.0)
    assert followed.follow()
    assert followed.statistics == (first, second)


def test_of_pooled_values_the_one_worth_seeing_is_kept():
    pool = worse_of(np.array([True, False]))
    columns = MeasuredColumns(2, capacity=2, empty=NONE, pool=pool)
    for step, value in enumerate([3.0, 1.0, NONE, 2.0, math.nan, 1.0, 5.0, ABSENT]):
        columns.put(step, [value, value])
    low, high = columns.values.T.tolist()
    assert low[0] == 1.0
    assert high[0] == 3.0
    assert np.isnan([low[1], high[1]]).all()


def test_a_number_is_worth_more_than_none_where_the_smallest_counts():
    pool = worse_of(np.array([True]))
    one = np.ones((1, 1), np.float32)
    for nothing in (NONE, ABSENT):
        assert pool(one * nothing, one * 3, one, one).tolist() == [[3.0]]
