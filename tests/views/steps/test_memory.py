import numpy as np

from ftlab.records.step import StepRecord
from ftlab.runlog.run import Run
from ftlab.views.steps.memory import MemoryView

GIB = 2**30


def test_shows_memory_speed_and_padding():
    run = Run()
    values = {"rss": 2.0 * GIB, "tokens_per_second": 8143.0}
    values |= {"tokens": 75.0, "padding": 25.0, "cuda_peak": 3.0 * GIB}
    values |= {"idle_bytes": GIB, "forward_bytes": 2.5 * GIB}
    for step in range(3):
        run.append(StepRecord(step, 0.0, values=values))
    view = MemoryView(run)
    assert view.summary.notes == (
        *("2 GiB, CUDA peak 3 GiB", "1 GiB before the forward"),
        *("8,140", "25.0 %"),
    )
    assert view.summary.row("forward_bytes").tolist() == [2.5] * 3
    assert np.isnan(view.summary.row("update_bytes")).all()
    assert view.summary.row("rss").tolist() == [2.0, 2.0, 2.0]
    assert view.table()["padding_share"].tolist() == [0.25] * 3


def test_says_what_was_not_recorded():
    run = Run()
    run.append(StepRecord(0, 0.0))
    assert MemoryView(run).summary.notes == ("not recorded",) * 4
    assert np.isnan(MemoryView(run).summary.values).all()
    assert MemoryView(Run()).figure().axes


def test_the_text_holds_nothing_that_differs_from_run_to_run():
    texts = set()
    for speed in (100.0, 200.0):
        run = Run()
        values = {"rss": speed, "tokens_per_second": speed}
        values |= {"tokens": 3.0, "padding": 1.0}
        run.append(StepRecord(0, speed, values=values))
        texts.add(repr(MemoryView(run)))
    assert texts == {
        "Memory and throughput: 1 step, padding 25.0 %; memory and speed in .table()"
    }
