import numpy as np
import pytest

from ftlab.records.step import Evaluation, StepRecord
from ftlab.runlog.divergence import FEWEST, compare
from ftlab.runlog.run import Run
from ftlab.views.steps.divergence import DivergenceView

STEPS = 10
"""Training steps between two evaluations."""


def run_of(evaluation, training, metric="eval_loss"):
    run = Run()
    for step, loss in enumerate(training):
        run.append(StepRecord(step=step, time=0.0, loss=float(loss)))
        if (step + 1) % STEPS == 0 and (step + 1) // STEPS <= len(evaluation):
            value = float(evaluation[(step + 1) // STEPS - 1])
            run.append(Evaluation(step + 1, 0.0, {metric: value, "eval_runtime": 1.0}))
    return run


def falling(count, low=0.5, high=4.0):
    return np.linspace(high, low, count * STEPS)


def turning(count, turn, rise=0.15):
    places = np.arange(count)
    return 2.0 + np.where(places < turn, (turn - places) * 0.1, (places - turn) * rise)


@pytest.mark.parametrize("turn", [3, 8, 14])
def test_names_the_step_where_they_part(turn):
    view = DivergenceView(run_of(turning(20, turn), falling(20)))
    assert view.diverges
    assert abs(view.since - (turn + 1) * STEPS) <= STEPS
    assert "while training loss falls" in repr(view)
    assert set(view.table()["verdict"]) == {"diverges"}


@pytest.mark.parametrize("noise", [0.001, 0.01, 0.1])
def test_is_quiet_on_the_noise_of_healthy_runs(noise):
    drawn = np.random.default_rng(0)
    for _ in range(40):
        places = np.arange(1, 41)
        evaluation = (1.5 + 2 * np.exp(-places / 5)) * (
            1 + noise * drawn.normal(size=40)
        )
        steps = np.arange(400)
        training = (1.4 + 2 * np.exp(-steps / 50)) * (
            1 + 3 * noise * drawn.normal(size=400)
        )
        for count in range(FEWEST, 41, 4):
            known = count * STEPS
            found = compare(
                "eval_loss",
                (places * STEPS)[:count],
                evaluation[:count],
                (steps[:known], training[:known]),
            )
            assert found.verdict == "together", (count, found)


def test_a_training_that_falls_apart_is_something_else():
    view = DivergenceView(run_of(turning(20, 5), turning(20, 5).repeat(STEPS)))
    assert not view.diverges
    assert view.since == -1
    assert "training loss does not fall" in repr(view)


def test_a_rise_within_the_margin_is_none():
    evaluation = turning(20, 5, rise=0.001)
    assert "no rise" in repr(DivergenceView(run_of(evaluation, falling(20))))


def test_one_high_evaluation_is_none():
    evaluation = np.linspace(3.0, 2.0, 12)
    evaluation[-1] = 9.0
    assert not DivergenceView(run_of(evaluation, falling(12))).diverges


def test_few_evaluations_cannot_tell():
    view = DivergenceView(run_of(turning(FEWEST - 1, 2), falling(FEWEST)))
    assert "cannot tell" in repr(view)
    assert not view.diverges


def test_values_that_are_not_finite_are_left_out():
    evaluation, training = turning(20, 5), falling(20)
    evaluation[3], training[60] = np.nan, np.inf
    view = DivergenceView(run_of(evaluation, training))
    assert view.diverges
    assert abs(view.since - 60) <= STEPS
    assert np.isfinite(view.table()[["evaluation", "training"]]).all(axis=None)


def test_no_evaluation_says_how_to_get_one():
    view = DivergenceView(Run())
    assert "eval_strategy" in repr(view)
    assert view.table().empty
    view.figure().canvas.draw()


def test_the_figure_marks_the_step():
    axes = DivergenceView(run_of(turning(20, 8), falling(20))).figure().axes[0]
    assert [line.get_label() for line in axes.lines] == [
        "eval_loss",
        axes.lines[1].get_label(),
        "training",
    ]
    assert (
        axes.lines[1].get_xdata()[0]
        == DivergenceView(run_of(turning(20, 8), falling(20))).since
    )


def test_several_evaluation_sets_are_told_apart():
    run = run_of(turning(20, 5), falling(20), metric="eval_a_loss")
    for place, value in enumerate(np.linspace(3.0, 2.0, 20)):
        run.append(Evaluation((place + 1) * STEPS, 0.0, {"eval_b_loss": value}))
    verdicts = {each.metric: each.verdict for each in DivergenceView(run).summary}
    assert verdicts == {"eval_a_loss": "diverges", "eval_b_loss": "together"}
