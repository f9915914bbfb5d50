import pyarrow as pa
import pytest

from ftlab.runlog.segment import Limits, Segments, segment_numbers
from ftlab.runlog.tail import file_schema, read_segment

SCHEMA = pa.schema([("step", pa.int64())], metadata={"ftlab.schema": "1"})


def batch(*steps):
    return pa.record_batch([pa.array(steps, pa.int64())], schema=SCHEMA)


def test_what_was_flushed_is_in_the_file_and_what_was_queued_is_not(tmp_path):
    segments = Segments(tmp_path, "a", Limits())
    segments.add(batch(1), SCHEMA)
    segments.flush()
    segments.add(batch(2), SCHEMA)
    assert read_segment(segments.path)["step"].to_pylist() == [1]
    assert file_schema(segments.path) is None
    segments.seal()
    assert read_segment(segments.path)["step"].to_pylist() == [1, 2]
    assert file_schema(segments.path) is not None


def test_says_when_it_is_full_by_rows_or_bytes(tmp_path):
    by_rows = Limits(segment_rows=3), [False, False, True]
    by_bytes = Limits(segment_bytes=1), [True, True, True]
    for name, (limits, expected) in {"a": by_rows, "b": by_bytes}.items():
        segments = Segments(tmp_path, name, limits)
        full = []
        for step in range(3):
            segments.add(batch(step), SCHEMA)
            full.append(segments.flush())
        segments.release()
        assert full == expected


def test_another_schema_begins_another_segment(tmp_path):
    segments = Segments(tmp_path, "a", Limits())
    for step in range(2):
        schema = SCHEMA.with_metadata({"ftlab.schema": "1", "number": str(step)})
        segments.add(batch(step).cast(schema), schema)
    segments.seal()
    segments.seal()
    assert segment_numbers(tmp_path, "a") == [0, 1]


def test_never_writes_over_a_file_that_is_there(tmp_path):
    (tmp_path / "a-000000.arrow").write_bytes(b"somebody's")
    segments = Segments(tmp_path, "a", Limits())
    segments.add(batch(1), SCHEMA)
    with pytest.raises(FileExistsError):
        segments.flush()
    assert (tmp_path / "a-000000.arrow").read_bytes() == b"somebody's"


def test_tables_whose_names_begin_alike_keep_apart(tmp_path):
    for name in ("a-000000", "a-b-000001", "ab-000002", "a-x"):
        (tmp_path / f"{name}.arrow").touch()
    assert segment_numbers(tmp_path, "a") == [0]
    assert segment_numbers(tmp_path, "a-b") == [1]
