"""Copies of datasets without some rows."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ftlab.probes.data.files.copying import write_copy
from ftlab.probes.data.files.sources import sources_of
from ftlab.records.errors import BadValueError

ROWS = [{"text": f"röw {at}", "n": at} for at in range(12)]
ODD = [row for row in ROWS if row["n"] % 2]


def is_even(row):
    return row % 2 == 0


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_lines_are_copied_as_they_are(tmp_path):
    source = tmp_path / "rows.jsonl"
    source.write_bytes(
        b'{"b": 1,  "a": "\\u00e9"}\r\n\n{"broken"\n{"c":2}\n{"d": 1e400}\n{"e": 5}'
    )
    before = source.read_bytes()
    kept = write_copy(
        sources_of(source), str(tmp_path / "new.jsonl"), {1, 2}.__contains__
    )
    assert kept == 3
    content = (tmp_path / "new.jsonl").read_bytes()
    assert content == b'{"b": 1,  "a": "\\u00e9"}\n{"d": 1e400}\n{"e": 5}\n'
    assert source.read_bytes() == before


@pytest.mark.parametrize("name", ["rows.json", "rows.parquet", "rows.arrow", None])
def test_rows_of_all_forms_are_copied_as_lines(tmp_path, name):
    what = ROWS
    if name is not None:
        what = tmp_path / name
        write = {"json": write_json, "parquet": pq.write_table, "arrow": write_arrow}
        table = pa.Table.from_pylist(ROWS)
        write[name.partition(".")[2]](table, what)
    assert write_copy(sources_of(what), str(tmp_path / "new.jsonl"), is_even) == 6
    assert lines(tmp_path / "new.jsonl") == ODD


def write_json(table, path):
    path.write_text(json.dumps(table.to_pylist()))


def write_arrow(table, path):
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=5)


def test_parquet_and_arrow_keep_their_columns(tmp_path):
    schema = pa.schema([("text", pa.large_string()), ("n", pa.int8())])
    table = pa.Table.from_pylist(ROWS, schema)
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=5)
    sources = sources_of(tmp_path / "rows.parquet")
    assert write_copy(sources, str(tmp_path / "new.parquet"), is_even) == 6
    assert write_copy(sources, str(tmp_path / "new.arrow"), is_even) == 6
    new = pq.read_table(tmp_path / "new.parquet")
    assert (new.schema, new.to_pylist()) == (schema, ODD)
    assert pa.ipc.open_file(tmp_path / "new.arrow").read_all().to_pylist() == ODD


def test_nothing_is_ever_written_over(tmp_path):
    source = tmp_path / "rows.jsonl"
    source.write_text('{"text": "a"}\n')
    for name in ("rows.jsonl", "link.jsonl"):
        (tmp_path / "link.jsonl").unlink(missing_ok=True)
        (tmp_path / "link.jsonl").symlink_to(source)
        with pytest.raises(BadValueError, match="exists; name a new file"):
            write_copy(sources_of(source), str(tmp_path / name), is_even)
    assert source.read_text() == '{"text": "a"}\n'


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("new.csv", r"ends in \.csv; a copy of these ends in \.jsonl"),
        ("new", "ends in nothing"),
        ("new.parquet", r"ends in \.parquet; a copy"),
        ("missing/new.jsonl", "was not written: .*No such file"),
        ("x" * 300 + ".jsonl", "was not written: .*File name too long"),
        ("a\0b.jsonl", "The copy's name is .*pass that of a new file"),
    ],
)
def test_a_copy_that_cannot_be_written_is_refused(tmp_path, name, said):
    with pytest.raises(BadValueError, match=said):
        write_copy(sources_of(ROWS), str(tmp_path / name), is_even)
    assert list(tmp_path.iterdir()) == []


def test_rows_that_are_no_json_are_refused_and_nothing_is_left(tmp_path):
    rows = [{"text": "a"}, {"text": "b", "image": object()}]
    with pytest.raises(BadValueError, match=r"Row 1 holds what JSON cannot.*kept\(\)"):
        write_copy(sources_of(rows), str(tmp_path / "new.jsonl"), lambda _: False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [None, 7, b"new.jsonl", ""])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(BadValueError, match="The copy's name is"):
        write_copy(sources_of(ROWS), name, is_even)


def test_elements_of_an_array_are_copied_as_they_are_written(tmp_path):
    source = tmp_path / "rows.json"
    source.write_bytes(
        b'[{"a": 1, "a":\n 2.50}, {"a": "\xff"}, {"b": "\\ud800", "c": NaN}]'
    )
    new = tmp_path / "new.jsonl"
    assert write_copy(sources_of(source), str(new), lambda _: False) == 2
    assert new.read_bytes() == (b'{"a": 1, "a":  2.50}\n{"b": "\\ud800", "c": NaN}\n')


def test_halves_of_characters_and_numbers_of_numpy_stay_what_they_are(tmp_path):
    rows = [{"text": "a \ud800 b \xe9"}, {"text": "\xe9", "n": np.int64(7)}]
    rows.append({"ids": np.arange(3)})
    new = tmp_path / "new.jsonl"
    assert write_copy(sources_of(rows), str(new), lambda _: False) == 3
    assert lines(new) == [rows[0], {"text": "\xe9", "n": 7}, {"ids": [0, 1, 2]}]


def test_a_part_of_another_copy_is_left_alone(tmp_path):
    other = tmp_path / ".new.jsonl.part"
    other.write_text("somebody else's")
    write_copy(sources_of(ROWS), str(tmp_path / "new.jsonl"), is_even)
    assert other.read_text() == "somebody else's"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_file_that_appears_while_the_copy_is_written_stays(tmp_path):
    new = tmp_path / "new.jsonl"

    def look(row):
        if row == 3:
            new.write_text("somebody else's")
        return False

    with pytest.raises(BadValueError, match="exists; name a new file"):
        write_copy(sources_of(ROWS), str(new), look)
    assert new.read_text() == "somebody else's"
    assert len(list(tmp_path.iterdir())) == 1


def test_columns_in_another_order_are_put_in_order(tmp_path):
    pq.write_table(pa.Table.from_pylist(ROWS[:5]), tmp_path / "a.parquet")
    turned = pa.Table.from_pylist(ROWS[5:]).select(["n", "text"])
    pq.write_table(turned, tmp_path / "b.parquet")
    sources = sources_of([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    assert write_copy(sources, str(tmp_path / "new.parquet"), is_even) == 6
    assert pq.read_table(tmp_path / "new.parquet").to_pylist() == ODD
    pq.write_table(
        pa.table({"n": [1], "text": ["a"], "m": [2]}), tmp_path / "c.parquet"
    )
    sources = sources_of([tmp_path / "a.parquet", tmp_path / "c.parquet"])
    with pytest.raises(BadValueError, match=r"different columns.*as lines"):
        write_copy(sources, str(tmp_path / "other.parquet"), is_even)
    assert not (tmp_path / "other.parquet").exists()
