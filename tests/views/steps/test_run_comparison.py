"""A comparison is made anew when a run has grown."""

from ftlab.records.step import StepRecord
from ftlab.runlog.run import Run
from ftlab.views.steps.run_comparison import RunComparisonView


def test_a_growing_run_is_compared_anew():
    one, other = Run(), Run()
    for run in (one, other):
        run.append(StepRecord(0, 0.0, loss=1.0))
    view = RunComparisonView(one, other)
    assert view.step == -1
    one.append(StepRecord(1, 1.0, loss=1.0))
    other.append(StepRecord(1, 1.0, loss=2.0))
    assert view.step == 1
    assert RunComparisonView(one, Run()).step == -1
    assert "no step in common" in repr(RunComparisonView(one, Run()))
