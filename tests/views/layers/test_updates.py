import math

import numpy as np

from ftlab.runlog.run import Run
from ftlab.views.layers.updates import UpdatesView
from tests.views.sample import add_measured, named


def moved(update, weight=1.0, stuck=0.0, **columns):
    run = named(2, 1)
    given = {"update_l2": update, "weight_l2": weight, "stuck_share": stuck}
    add_measured(run, 0, **(given | columns))
    return run


def test_text_says_ratio_and_stuck_share():
    assert repr(UpdatesView(moved([2e-3, 1e-3], [4.0, 1.0], [0.5, 0.0]))) == (
        "Updates: 2 layers, 2 tensors, measured at step 0\n"
        "layer      ratio  stuck\n"
        "layers.0  0.0005   50 %\n"
        "layers.1   0.001    0 %\n"
        "update ratio 0.0005 to 0.001; up to 50 % of a layer stuck (layers.0)"
    )


def test_layers_beyond_the_marks_are_counted():
    view = UpdatesView(moved([1e-6, 0.5]))
    assert view.headline() == (
        "update ratio 1e-06 to 0.5 (marks: 1 layer below 1e-05, 1 layer above 0.01); "
        "nothing is stuck"
    )


def test_a_share_below_one_percent_is_not_called_zero():
    assert (
        UpdatesView(moved(1e-3, stuck=0.004)).headline().endswith("less than 1 % stuck")
    )


def test_a_weight_that_is_zero_has_no_ratio():
    view = UpdatesView(moved([1e-3, 1e-3], [0.0, 1.0]))
    assert np.isnan(view.table()["update_ratio"][0])
    assert view.headline() == "update ratio 0.001; nothing is stuck"


def test_a_layers_ratio_is_that_of_its_whole_weight():
    run = named(1, 2)
    add_measured(run, 0, update_l2=[3e-3, 4e-3], weight_l2=[0.0, 5.0])
    assert math.isclose(UpdatesView(run).table()["update_ratio"][0], 1e-3, rel_tol=1e-6)


def test_a_step_in_which_nothing_could_move_is_no_trouble():
    assert (
        UpdatesView(moved(0.0, 1.0, math.nan)).headline()
        == "update ratio 0 (marks: 2 layers below 1e-05)"
    )


def test_a_run_without_updates_has_nothing_to_show():
    assert UpdatesView(Run()).headline() == ""
    assert repr(UpdatesView(Run())) == "Updates: nothing recorded yet"
