import numpy as np

from ftlab.records.step import StepRecord
from ftlab.runlog.chunk import rows_of
from ftlab.runlog.gather import gather
from ftlab.runlog.reader import open_log
from ftlab.runlog.run import Run
from ftlab.runlog.writer import LogWriter
from tests.runlog.sample import block


def test_rows_of_several_probes_become_one_set():
    parts = [
        rows_of(block(0, [4, 2], grad_l2=[1, 2], has_grad=[0, 1])),
        rows_of(block(0, [2, 9], weight_l2=[3, 4])),
    ]
    rows = gather(parts)
    assert rows.ids.tolist() == [2, 4, 9]
    np.testing.assert_array_equal(rows.values["grad_l2"], [2, 1, np.nan])
    assert rows.known["grad_l2"].tolist() == [True, False, False]
    assert rows.known["weight_l2"].tolist() == [True, False, True]


def test_a_commit_in_the_middle_of_a_step_does_no_harm(tmp_path):
    writer, run = LogWriter.create(tmp_path / "run", config={}, versions={}), Run()
    for step in range(70):
        for part in (
            block(step, [3, 1], grad_l2=[step, 2]),
            block(step, [1, 3], weight_l2=[step, 4]),
            block(step, [2, 9], grad_l2=[step, 6]),
            block(step, [10], grad_l2=[step]),
            StepRecord(step, 0.0),
        ):
            run.append(part)
            writer.write(part)
            writer.commit()
    writer.close("finished")
    for budget in (0, 2**26):
        stored = open_log(tmp_path / "run", budget=budget)
        for column in ("grad_l2", "weight_l2"):
            for resolution in (1, 64):
                found = stored.matrix(column, resolution=resolution)
                wanted = run.matrix(column, resolution=resolution)
                np.testing.assert_array_equal(found.steps, wanted.steps)
                np.testing.assert_array_equal(found.ids, wanted.ids)
                np.testing.assert_array_equal(found.values, wanted.values)
                np.testing.assert_array_equal(found.known, wanted.known)


def test_columns_of_one_step_may_be_committed_one_by_one(tmp_path):
    writer = LogWriter.create(tmp_path / "run", config={}, versions={})
    writer.write(block(0, [1, 3], grad_l2=[0, 2], weight_l2=[0, 4]))
    for step in range(70):
        for part in (
            block(step, [1, 3], grad_l2=[step, 2]),
            block(step, [1, 3], weight_l2=[step, 4]),
            StepRecord(step, 0.0),
        ):
            writer.write(part)
            writer.commit()
    writer.close("finished")
    for budget in (0, 2**26):
        matrix = open_log(tmp_path / "run", budget=budget).matrix("weight_l2")
        assert matrix.steps.tolist() == list(range(70))
        assert matrix.values[:, 0].tolist() == list(range(70))
