"""A comparison is made anew when a run has grown."""

from ftlab.records.event import Event
from ftlab.records.loader_start import LoaderStart
from ftlab.records.step import StepRecord
from ftlab.runlog.run import Run
from ftlab.views.steps.run_comparison import WIDTH, RunComparisonView


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


def test_long_sources_stay_within_the_picture():
    runs = Run(), Run()
    for run, order in zip(runs, ("by length " * 20, "random"), strict=True):
        run.append(StepRecord(0, 0.0, loss=1.0))
        start = LoaderStart(0, 0, "Rows", "Random", order)
        run.append(Event("loader", 0, 0.0, "", start.as_json()))
    title = RunComparisonView(*runs).figure().get_suptitle()
    assert " ".join(title.split()).count("by length") == 20
    assert max(map(len, title.splitlines())) <= WIDTH
