"""The seed chain as text, table and picture."""

import pytest

from ftlab.records.errors import BadValueError
from ftlab.records.event import Event
from ftlab.records.facts import Facts
from ftlab.records.loader_start import LoaderStart, WorkerStart
from ftlab.records.step import StepRecord
from ftlab.runlog.run import Run
from ftlab.views.steps.seeds import SeedsView

KNOWN = {"torch_seed": 7, "hash_seed": "", "deterministic": False, "device": "cpu"}


def run_of(*states, seed=3, losses=None):
    run = Run()
    training = {"randomness": KNOWN, "args": {"seed": 42}, "world_size": 2}
    run.append(Facts(training=training))
    started = (WorkerStart(0, 11), WorkerStart(1, 12))
    start = LoaderStart(0, 0, "Rows", "Random", "random", seed, 1, 2, started)
    run.append(Event("loader", 0, 0.0, "", start.as_json()))
    for step, state in enumerate(states):
        loss = losses[step] if losses else 1.0
        run.append(StepRecord(step, 0.0, loss=loss, values={"rng_torch": state}))
    return run


def test_sources_and_draws_are_told():
    assert repr(SeedsView(run_of(1.0, 1.0, 2.0, 2.0, 5.0))).splitlines() == [
        "Seeds: 5 steps",
        "  a new start would see the same data: yes, all generators that were found "
        "begin the same",
        "  torch: seed 7",
        "  Python's hash: drawn anew at each start (not fixed)",
        "  kernels: any algorithm, on cpu",
        "  TrainingArguments.seed: 42",
        "  processes: 2",
        "  order of samples: random, drawn with seed 3; set_epoch 1",
        "  worker 0: seed 11",
        "  worker 1: seed 12",
        "  torch: drawn from in 2 steps",
    ]


def test_table_and_figure_show_the_same():
    view = SeedsView(run_of(1.0, 2.0))
    table = view.table()
    assert table["source"].iloc[0] == "torch"
    assert table.set_index("source").loc["Python's hash", "at another start"] == (
        "not fixed"
    )
    figure = view.figure()
    assert figure.get_suptitle() == repr(view)
    (axes,) = figure.axes
    assert [each.get_text() for each in axes.get_yticklabels()] == ["torch"]


def test_nothing_is_told_of_an_empty_run():
    view = SeedsView(Run())
    assert repr(view) == "Seeds: nothing recorded yet"
    assert view.table().empty
    assert view.figure().axes


def test_two_runs_are_compared():
    one, other = SeedsView(run_of(1.0, 2.0)), run_of(1.0, 2.0, seed=4, losses=[1, 2])
    found = one.against(other)
    assert found.step == 1
    assert repr(found).splitlines()[:2] == [
        "Two runs: they differ from step 1 on",
        "  first in the loss",
    ]
    assert "order of samples: random, drawn with seed 3" in repr(found)
    table = found.table().set_index("quantity")["differs from step"]
    assert table["the loss"] == 1
    assert table.isna()["random numbers of torch"]
    figure = found.figure()
    assert len(figure.axes[0].patches) == 2 * len(table)
    assert figure.get_suptitle() == repr(found)


def test_equal_runs_are_the_same():
    found = SeedsView(run_of(1.0, 2.0)).against(run_of(1.0, 2.0))
    assert (found.step, repr(found)) == (
        -1,
        "Two runs: everything recorded is the same in 2 steps",
    )


@pytest.mark.parametrize("other", [None, "runs/1", 3])
def test_what_is_no_run_is_refused(other):
    with pytest.raises(BadValueError, match=r"it takes a run: a watch, or"):
        SeedsView(Run()).against(other)
