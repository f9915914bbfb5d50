import pytest

from ftlab.runlog.loading import begin_raw, raw_tables, windows
from ftlab.runlog.reader import open_log
from ftlab.runlog.segment import Limits
from tests.runlog.sample import check, logged


@pytest.mark.parametrize("steps", [30, 120, 190])
def test_a_window_that_is_under_way_is_read_whole(tmp_path, steps):
    logged(tmp_path / "run", steps, limits=Limits(segment_bytes=4_000), ended=None)
    folder = tmp_path / "run" / "rank-00000"
    assert raw_tables(folder) == ["tensors"]
    first = begin_raw(folder, "tensors", 0, windows(folder, "tensors"))
    assert (first == 0) == (steps < 64)
    check(open_log(tmp_path / "run", budget=0), steps)
