import numpy as np

from ftlab.runlog import archive
from ftlab.runlog.matrix import PARTS
from ftlab.runlog.reader import open_log
from ftlab.runlog.segment import Limits
from ftlab.runlog.tail import read_segment
from ftlab.runlog.writer import LogWriter
from tests.runlog.sample import block, logged


def test_a_row_without_a_value_is_not_known_in_a_stored_roll_up_either(tmp_path):
    writer = LogWriter.create(tmp_path / "run", config={}, versions={})
    writer.write(block(1, [1], grad_l2=[2], grad_max=[3]))
    writer.write(block(2, [0], grad_l2=[4]))
    writer.write(block(9000, [0], grad_l2=[5]))
    writer.commit()
    writer.close("finished")
    for budget in (0, 2**20):
        run = open_log(tmp_path / "run", budget=budget)
        for span in (64, 4096):
            rolled = run.matrix("grad_max", stop=100, resolution=span)
            assert rolled.known.tolist() == [[False, True]]
            np.testing.assert_array_equal(rolled.high, [[np.nan, 3]])


def test_columns_that_are_read_together_are_as_if_read_one_by_one(tmp_path):
    logged(tmp_path / "run", 5000, every=100, limits=Limits(segment_rows=2000))
    run = open_log(tmp_path / "run", budget=0)
    bounds, names = (60, 4900), ("grad_l2", "weight_l2")
    for span in (1, 64, 4096):
        whole = run.matrices(dict.fromkeys(names, PARTS), "tensors", bounds, span)
        highs = run.matrices(dict.fromkeys(names, ("high",)), "tensors", bounds, span)
        for name in names:
            one = run.matrix(name, start=60, stop=4900, resolution=span)
            for part in ("steps", "ids", "known", "values", "low", "high", "nonfinite"):
                wanted = getattr(one, "high" if part in ("values", "low") else part)
                np.testing.assert_array_equal(getattr(highs[name], part), wanted)
                found = getattr(whole[name], part)
                np.testing.assert_array_equal(found, getattr(one, part))


def test_who_reads_on_within_a_closed_segment_does_not_read_it_again(
    tmp_path, monkeypatch
):
    read = []
    monkeypatch.setattr(
        archive,
        "read_segment",
        lambda path, *columns: read.append(path.name) or read_segment(path, *columns),
    )
    logged(tmp_path / "run", 600, every=100)
    run = open_log(tmp_path / "run", budget=0)
    for start in range(0, 448, 64):
        run.matrix("grad_l2", start=start, stop=start + 64)
    assert read == ["tensors-000000.arrow"]
