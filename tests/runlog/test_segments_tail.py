import pyarrow as pa

from ftlab.runlog.segment import Limits, Segments, write_file
from ftlab.runlog.segments_tail import SegmentsTail
from ftlab.runlog.tail import read_segment
from ftlab.runlog.thinning import THINNED

SCHEMA = pa.schema([("step", pa.int64())], metadata={"ftlab.schema": "1"})


def add(segments, *steps):
    arrays = [pa.array(steps, pa.int64())]
    segments.add(pa.record_batch(arrays, schema=SCHEMA), SCHEMA)
    segments.flush()


def read(tail):
    return [step for _, table in tail.read() for step in table["step"].to_pylist()]


def test_each_row_is_read_once_across_closed_segments(tmp_path):
    segments, tail = Segments(tmp_path, "a", Limits()), SegmentsTail(tmp_path, "a")
    assert read(tail) == []
    add(segments, 1, 2)
    assert read(tail) == [1, 2]
    add(segments, 3)
    segments.seal()
    add(segments, 4)
    assert read(tail) == [3, 4]
    segments.seal()
    assert read(tail) == []
    add(segments, 5)
    assert read(tail) == [5]
    segments.release()


def test_what_is_left_of_a_thinned_segment_is_not_read_again(tmp_path):
    segments, tail = Segments(tmp_path, "a", Limits()), SegmentsTail(tmp_path, "a")
    add(segments, 1, 2)
    assert read(tail) == [1, 2]
    add(segments, 3, 4)
    path = segments.path
    segments.seal()
    write_file(path, read_segment(path).slice(0, 3), (THINNED,))
    add(segments, 5)
    assert read(tail) == [5]
    segments.release()


def test_goes_on_after_removed_and_unfinished_segments(tmp_path):
    segments, tail = Segments(tmp_path, "a", Limits()), SegmentsTail(tmp_path, "a")
    for number in range(4):
        segments.number = number - 1
        add(segments, number)
        segments.schema = None
        segments.release()
    (tmp_path / "a-000001.arrow").unlink()
    assert read(tail) == [0, 2, 3]
