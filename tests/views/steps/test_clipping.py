import numpy as np

from ftlab.records.step import StepRecord
from ftlab.runlog.run import Run
from ftlab.views.steps.clipping import ClippingView


def clipped(norms, limit=1.0):
    run = Run()
    for step, norm in enumerate(norms):
        factor = min(1.0, limit / (norm + 1e-6))
        run.append(StepRecord(step, 0.0, 1.0, (), norm, limit, factor))
    return run


def test_text_says_norm_limit_and_how_often_it_was_active():
    assert repr(ClippingView(clipped([0.5, 4.0, 2.0]))) == (
        "Clipping: 3 steps\n"
        "last norm 2, limit 1, clipped to 1\n"
        "active in 2 of 3 steps (66.7 %), smallest factor 0.25 at step 1"
    )


def test_a_limit_that_was_never_reached_is_said_to_be():
    view = ClippingView(clipped([0.5, 0.25]))
    assert view.headline() == "never active in 2 steps; last norm 0.25, limit 1"


def test_a_run_without_clipping_has_nothing_to_show():
    run = Run()
    run.append(StepRecord(0, 0.0, 1.0, (), 2.0))
    for view in (ClippingView(run), ClippingView(Run())):
        assert view.headline() == ""
        assert repr(view) == "Clipping: nothing recorded yet"
        assert view.figure().axes


def test_clipping_to_a_value_has_no_factor():
    run = Run()
    run.append(StepRecord(0, 0.0, 1.0, (), 2.0, values={"clips": 1.0}))
    view = ClippingView(run)
    assert "no single factor" in view.headline()
    assert "no norm limit" in view.headline()


def test_the_clipped_norm_is_norm_times_factor():
    table = ClippingView(clipped([0.5, 4.0])).table()
    np.testing.assert_allclose(table["clipped_norm"], [0.5, 1.0], rtol=1e-5)
    assert table["active"].tolist() == [False, True]


def test_a_norm_that_is_not_finite_is_marked_and_not_drawn():
    run = clipped([1.0])
    run.append(StepRecord(1, 0.0, 1.0, (), np.inf, 1.0, 0.0))
    summary = ClippingView(run).summary
    assert summary.row("non_finite").tolist() == [0, 1]
    assert np.isnan(summary.row("norm")[1])
    assert np.isnan(summary.row("clipped")[1])
