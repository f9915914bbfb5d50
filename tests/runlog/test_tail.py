import pyarrow as pa
import pytest

from ftlab.records.errors import FtlabWarning, SchemaError
from ftlab.runlog.reader import open_log
from ftlab.runlog.segment import Limits, write_file
from ftlab.runlog.tail import StreamTail, read_file, read_segment
from tests.runlog.sample import check, logged

SCHEMA = pa.schema([("step", pa.int64())], metadata={"ftlab.schema": "1"})


def batch(*steps):
    return pa.record_batch([pa.array(steps, pa.int64())], schema=SCHEMA)


def test_a_growing_stream_gives_each_batch_once(tmp_path):
    path = tmp_path / "a.arrow"
    tail = StreamTail(path)
    pieces = [SCHEMA.serialize(), batch(1, 2).serialize(), batch(3).serialize()]
    data = b"".join(piece.to_pybytes() for piece in pieces)
    seen = []
    for end in range(len(data) + 1):
        path.write_bytes(data[:end])
        seen += [found.column(0).to_pylist() for found in tail.read()]
    assert seen == [[1, 2], [3]]


def test_a_damaged_segment_is_left_out_with_a_warning(tmp_path):
    logged(tmp_path / "run", 200, limits=Limits(segment_bytes=30_000))
    path = tmp_path / "run" / "rank-00000" / "tensors-000001.arrow"
    path.write_bytes(path.read_bytes()[:-400])
    with pytest.warns(FtlabWarning, match=r"tensors-000001.arrow' is damaged"):
        run = open_log(tmp_path / "run")
    assert len(run.steps) == 200
    assert 0 < len(run.matrix("grad_l2").steps) < 200
    path.write_bytes(b"ARROW1")
    with pytest.warns(FtlabWarning, match="is damaged"):
        open_log(tmp_path / "run", budget=0).matrix("grad_l2")


def test_a_segment_of_a_newer_schema_is_refused(tmp_path):
    path = tmp_path / "a.arrow"
    newer = SCHEMA.with_metadata({"ftlab.schema": "2"})
    table = pa.Table.from_batches([batch(1)]).cast(newer)
    write_file(path, table)
    with pytest.raises(SchemaError, match="schema 2"):
        read_file(path)
    path.write_bytes(newer.serialize().to_pybytes())
    with pytest.raises(SchemaError, match="schema 2"):
        read_segment(path)


def test_reads_only_the_columns_that_are_asked_for(tmp_path):
    for ended in ("finished", None):
        logged(tmp_path / str(ended), 3, ended=ended)
        path = tmp_path / str(ended) / "rank-00000" / "tensors-000000.arrow"
        table = read_segment(path, ["step", "grad_l2", "nothing"])
        assert table.column_names == ["step", "grad_l2"]
        check(open_log(tmp_path / str(ended)), 3)
