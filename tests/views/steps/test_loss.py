import math

import numpy as np

from ftlab.records.step import Evaluation, StepRecord
from ftlab.runlog.run import Run
from ftlab.views.steps.loss import LossView


def run_of(losses, **fields):
    run = Run()
    for step, loss in enumerate(losses):
        run.append(StepRecord(step, float(step), loss, (1e-3, 1e-4), **fields))
    return run


def test_text_names_the_last_the_lowest_and_the_bad_steps():
    run = run_of([3.0, 2.0, math.nan, math.inf, 2.5])
    run.append(StepRecord(5, 5.0, 2.4, (2e-3, 1e-4), 12.0, 1.0, 1 / 12, skipped=True))
    assert repr(LossView(run)) == (
        "Loss: 6 steps\n"
        "last 2.4, lowest 2 at step 1; NaN or Inf at 2 steps, first at step 2; "
        "1 step skipped by the scaler\n"
        "learning rate 0.002, 0.0001\n"
        "gradient norm last 12, clipped in 100 % of the steps"
    )


def test_one_learning_rate_of_several_groups_is_said_once():
    run = Run()
    run.append(StepRecord(0, 0.0, 1.0, (1e-4, 1e-4)))
    assert repr(LossView(run)).endswith("learning rate 0.0001")
    run.append(StepRecord(1, 0.0, 1.0, (1e-4, 1e-4, 2e-3)))
    assert repr(LossView(run)).endswith("learning rate 0.0001 (2 groups), 0.002")


def test_an_empty_run_and_a_run_without_loss_say_so():
    assert repr(LossView(Run())) == "Loss: nothing recorded yet"
    (axes,) = LossView(Run()).figure().axes
    assert axes.texts[0].get_text() == "Loss: nothing recorded yet"
    run = Run()
    run.append(StepRecord(0, 0.0))
    assert repr(LossView(run)) == "Loss: 1 step\nnot recorded"


def test_a_run_of_nan_only_is_marked_everywhere():
    view = LossView(run_of([math.nan] * 4))
    assert view.summary.row("non_finite").tolist() == [1, 1, 1, 1]
    assert np.isnan(view.summary.row("loss")).all()
    assert view.figure().axes


def test_table_is_exact_and_by_step():
    run = run_of([3.0, math.nan], grad_norm=2.0)
    run.append(Evaluation(1, 0.0, {"eval_loss": 2.75}))
    table = LossView(run).table()
    assert table["step"].tolist() == [0, 1]
    assert table["lr_1"].tolist() == [1e-4, 1e-4]
    assert table["grad_norm"].tolist() == [2.0, 2.0]
    assert math.isnan(table["loss"][1])
    assert table["eval_loss"].tolist()[1] == 2.75


def test_long_runs_keep_mean_and_extremes_of_each_column():
    losses = np.random.default_rng(0).normal(2, 0.1, 3000)
    summary = LossView(run_of(losses)).summary
    assert summary.stride == 4
    parts = losses.reshape(-1, 4)
    np.testing.assert_allclose(summary.row("loss"), parts.mean(1), rtol=1e-5)
    np.testing.assert_allclose(summary.row("loss_low"), parts.min(1), rtol=1e-6)
    np.testing.assert_allclose(summary.row("loss_high"), parts.max(1), rtol=1e-6)


def test_an_evaluation_that_comes_later_finds_its_step():
    run = run_of([3.0, 2.0, 1.0])
    view = LossView(run)
    widget = view.widget()
    run.append(Evaluation(1, 0.0, {"eval_loss": 2.5}))
    run.append(Evaluation(2, 0.0, {"other": 1.0}))
    view.refresh()
    shown = view.summary.row("eval_loss")
    assert shown[1] == 2.5
    assert np.isnan(shown[[0, 2]]).all()
    assert view.summary.row("loss").tolist() == [3.0, 2.0, 1.0]
    widget.close()


def test_parameter_groups_may_appear_on_the_way():
    run = run_of([3.0])
    view = LossView(run)
    widget = view.widget()
    run.append(StepRecord(1, 1.0, 2.0, (1e-3, 1e-4, 1e-5)))
    view.refresh()
    assert [row["row"] for row in widget.rows][-1] == "lr_2"
    assert len(widget.spec["panels"][1]["series"]) == 3
    widget.close()


def test_the_widget_gets_new_points_only():
    run = run_of([3.0, 2.0])
    view = LossView(run)
    widget = view.widget()
    widget._snap_due = float("inf")
    run.append(StepRecord(2, 2.0, 1.0, (1e-3, 1e-4)))
    view.refresh()
    view.refresh()
    assert (widget.messages, widget.message_bytes) == (1, 4 * len(widget.rows))
    widget.close()
