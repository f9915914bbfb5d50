"""Shares of a step are those of the training, whatever its first steps took."""

import pytest

from ftlab.records.step import StepRecord
from ftlab.records.step_time import PHASES, column_of
from ftlab.runlog.run import Run
from ftlab.views.dashboard.head import head_of
from ftlab.views.steps.time import TimeView, shares_of


def run_of(steps, **seconds):
    run = Run()
    for step in range(steps):
        values = {column_of(e): seconds.get(e, 0.0) for e in PHASES}
        if step < 4:
            values[column_of("ftlab")] = 9.0
        run.append(StepRecord(step, 0.0, values=values))
    return run


def test_first_steps_and_ftlab_are_not_in_the_shares():
    run = run_of(20, data=0.3, forward=0.1, ftlab=0.4)
    shares = shares_of(run)
    assert shares["data"] == pytest.approx(0.75)
    assert shares["ftlab"] == pytest.approx(0.5)
    model, beside, said = TimeView(run).summary.notes
    assert model == "forward 25%, backward 0%, optimizer 0%"
    assert beside == "data 75%, ftlab 50%"
    assert "watch.cost" in said


def test_the_head_line_says_what_is_waited_for():
    assert "waiting for data takes 75% of the time" in head_of(
        run_of(20, data=0.3, forward=0.1), ""
    )
    assert "ftlab takes 100 ms of a step, 50% (see .cost)" in head_of(
        run_of(20, forward=0.1, ftlab=0.1), ""
    )


def test_says_what_was_not_recorded():
    assert repr(TimeView(Run())) == "Time of steps: nothing recorded yet"
    assert TimeView(Run()).figure().axes
    run = Run()
    run.append(StepRecord(0, 0.0))
    assert TimeView(run).summary.notes == ("not recorded",) * 2
