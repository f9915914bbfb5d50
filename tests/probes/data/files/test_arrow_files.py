"""Parquet and Arrow files, whole and broken."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ftlab.probes.data.files import arrow_files
from ftlab.probes.data.files.arrow_files import arrow_rows, parquet_rows
from ftlab.probes.data.files.entries import Broken
from ftlab.records.errors import BadValueError

ROWS = [{"text": f"row {at}", "n": at} for at in range(50)]
TABLE = pa.Table.from_pylist(ROWS)


def broken(entries):
    return [entry.value for entry in entries if isinstance(entry.value, Broken)]


def test_parquet_is_read_group_by_group(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_files, "BATCH", 7)
    path = tmp_path / "rows.parquet"
    pq.write_table(TABLE, path, row_group_size=20)
    entries = list(parquet_rows(str(path)))
    assert [entry.value for entry in entries] == ROWS
    assert [entry.at for entry in entries] == list(range(50))


def test_parquet_that_was_cut_off_is_said(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(TABLE, path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(BadValueError, match="cut off: fetch it anew"):
        list(parquet_rows(str(path)))


def test_a_broken_row_group_is_named_and_the_others_are_read(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(TABLE, path, row_group_size=20, compression="zstd")
    start = pq.ParquetFile(path).metadata.row_group(1).column(0).dictionary_page_offset
    content = bytearray(path.read_bytes())
    content[start : start + 60] = b"\xff" * 60
    path.write_bytes(content)
    entries = list(parquet_rows(str(path)))
    (lost,) = broken(entries)
    assert lost.says.startswith("row group 1 cannot be read")
    assert lost.rows == 20
    read = [entry for entry in entries if not isinstance(entry.value, Broken)]
    assert [e.value for e in read] == ROWS[:20] + ROWS[40:]
    assert [e.at for e in read[20:]] == list(range(40, 50))


@pytest.mark.parametrize("form", ["file", "stream"])
def test_both_forms_of_arrow_are_read(tmp_path, form):
    path = tmp_path / "rows.arrow"
    opened = pa.ipc.new_file if form == "file" else pa.ipc.new_stream
    with opened(str(path), TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=8)
    assert [entry.value for entry in arrow_rows(str(path))] == ROWS


@pytest.mark.parametrize("form", ["file", "stream"])
def test_arrow_that_was_cut_off_is_read_up_to_there(tmp_path, form):
    path = tmp_path / "rows.arrow"
    opened = pa.ipc.new_file if form == "file" else pa.ipc.new_stream
    with opened(str(path), TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=10)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    entries = list(arrow_rows(str(path)))
    (lost,) = broken(entries)
    assert "cut off" in lost.says or "cannot be read as Arrow" in lost.says
    assert 0 < len(entries) - 1 < 50
    assert [entry.value for entry in entries[:-1]] == ROWS[: len(entries) - 1]


def test_what_is_no_arrow_is_named(tmp_path):
    path = tmp_path / "rows.arrow"
    path.write_bytes(b"nothing of the kind, but long enough to look at")
    (lost,) = broken(arrow_rows(str(path)))
    assert "cannot be read as Arrow" in lost.says


def test_a_text_that_is_no_utf_8_is_named_and_the_others_are_read(tmp_path):
    path = tmp_path / "rows.parquet"
    values = [b"a", b"\xff\xfe", b"c"]
    array = pa.array(values, pa.binary()).view(pa.utf8())
    pq.write_table(pa.table({"text": array}), path)
    first, second, third = (entry.value for entry in parquet_rows(str(path)))
    assert (first, third) == ({"text": "a"}, {"text": "c"})
    assert second.says.startswith("no UTF-8: 'utf-8' codec can't decode byte 0xff")


@pytest.mark.parametrize("form", ["file", "stream"])
def test_a_batch_with_broken_offsets_is_named_and_the_others_are_read(tmp_path, form):
    path = tmp_path / "rows.arrow"
    offsets = pa.py_buffer(np.array([0, 1 << 30, 2, 3], np.int32).tobytes())
    broken_one = pa.Array.from_buffers(
        pa.utf8(), 3, [None, offsets, pa.py_buffer(b"abc")]
    )
    good = pa.array(["a", "b"])
    opened = pa.ipc.new_file if form == "file" else pa.ipc.new_stream
    with opened(str(path), pa.schema([("text", pa.utf8())])) as writer:
        for array in (good, broken_one, good):
            writer.write_batch(pa.record_batch({"text": array}))
    entries = list(arrow_rows(str(path)))
    (lost,) = broken(entries)
    assert lost.says.startswith("batch 1 cannot be read")
    assert lost.rows == 3
    assert [entry.at for entry in entries] == [0, 1, 2, 5, 6]
