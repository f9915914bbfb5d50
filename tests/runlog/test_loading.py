import numpy as np
import pytest

from ftlab.records.step import Block, StepRecord
from ftlab.runlog.loading import begin_raw, raw_tables, windows
from ftlab.runlog.reader import open_log
from ftlab.runlog.rollup import COARSE, FINE
from ftlab.runlog.segment import Limits
from ftlab.runlog.writer import LogWriter
from tests.runlog.sample import check, logged


@pytest.mark.parametrize("steps", [30, 120, 190])
def test_a_window_that_is_under_way_is_read_whole(tmp_path, steps):
    logged(tmp_path / "run", steps, limits=Limits(segment_bytes=4_000), ended=None)
    folder = tmp_path / "run" / "rank-00000"
    assert raw_tables(folder) == ["tensors"]
    first = begin_raw(folder, "tensors", 0, windows(folder, "tensors", 0))
    assert (first == 0) == (steps < 64)
    check(open_log(tmp_path / "run", budget=0), steps)


def test_old_fine_roll_ups_stay_on_the_disk_and_are_read_from_there(tmp_path):
    steps = COARSE + 4 * FINE
    run_of(tmp_path / "run", steps)
    folder = tmp_path / "run" / "rank-00000"
    whole, few = (windows(folder, "tensors", budget) for budget in (2**30, 0))
    fine = [each for each in few if each.span == FINE]
    assert len(few) < len(whole)
    assert fine[-1].start == steps - FINE
    assert fine[0].start <= COARSE
    read = open_log(tmp_path / "run", budget=0)
    assert read.matrix("grad_l2", resolution=FINE).steps.tolist() == [
        *range(0, steps, FINE)
    ]
    assert read.matrix("grad_l2", resolution=COARSE).high.tolist() == [
        [COARSE - 1.0],
        [steps - 1.0],
    ]


def run_of(path, steps):
    """Log one row, as large as its step, in segments of a few windows each."""
    writer = LogWriter.create(path, config={}, limits=Limits(segment_rows=8))
    ids = np.zeros(1, np.int32)
    for step in range(steps):
        value = np.array([step], np.float32)
        writer.write(Block("tensors", step, ids, {"grad_l2": value}))
        writer.write(StepRecord(step=step, time=0.0))
        if step % 16 == 15:
            writer.commit()
    writer.close("finished")


def test_a_roll_up_that_was_torn_before_its_first_batch_is_none(tmp_path):
    run_of(tmp_path / "run", FINE)
    folder = tmp_path / "run" / "rank-00000"
    for path in folder.glob("rollup*"):
        path.write_bytes(b"")
    assert windows(folder, "tensors", 0) == []
    assert len(open_log(tmp_path / "run").steps) == FINE
