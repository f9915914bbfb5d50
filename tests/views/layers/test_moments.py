import math

import numpy as np

from ftlab.runlog.run import Run
from ftlab.views.layers.moments import MomentsView
from tests.views.sample import add_measured, named


def adam(**columns):
    given = {"moment1_l2": [0.1, 0.2], "moment2_l2": [1e-4, 1e-2]}
    given |= {"moment2_min": [1e-20, 1e-6], "moment2_max": 1e-3}
    given |= {"floor_share": [0.5, 0.0], "eps_share": [0.25, 0.0]}
    run = named(2, 1)
    add_measured(run, 0, **(given | columns))
    return run


def test_text_says_every_moment_of_every_layer():
    assert repr(MomentsView(adam())) == (
        "Optimizer moments: 2 layers, 2 tensors, measured at step 0\n"
        "layer     first  second  smallest second  largest second  below 1e-10"
        "  eps outweighs\n"
        "layers.0    0.1  0.0001            1e-20           0.001         50 %"
        "           25 %\n"
        "layers.1    0.2    0.01            1e-06           0.001          0 %"
        "            0 %\n"
        "second moment 0.0001 to 0.01; eps outweighs up to 25 % of it (layers.0)"
    )


def test_a_run_without_moments_has_nothing_to_show():
    run = named(2, 1)
    add_measured(run, 0, weight_l2=1.0)
    for view in (MomentsView(run), MomentsView(Run())):
        assert view.headline() == ""
        assert repr(view) == "Optimizer moments: nothing recorded yet"
        assert len(view.table()) == 0
        assert len(view.table(by="parameter")) in (0, 2)
        assert view.figure().axes


def test_an_optimizer_with_one_moment_has_one_statistic():
    run = named(2, 1)
    add_measured(run, 0, moment1_l2=[1.0, 3.0])
    view = MomentsView(run)
    assert list(view.table()) == ["step", "layer", "first_moment"]
    assert view.headline() == "first moment 1 to 3"


def test_a_moment_that_is_not_finite_is_told_first():
    view = MomentsView(adam(moment1_l2=[0.1, math.nan]))
    assert view.headline().startswith("NaN or Inf in 1 layer, layers.1 first; ")


def test_a_share_that_is_not_known_is_no_trouble():
    view = MomentsView(adam(eps_share=math.nan))
    assert view.headline() == "second moment 0.0001 to 0.01"
    assert np.isnan(view.table()["eps_share"]).all()
