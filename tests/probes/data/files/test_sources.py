"""What datasets are read from."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import Dataset, IterableDataset

from ftlab.probes.data.files.entries import Broken
from ftlab.probes.data.files.sources import sources_of
from ftlab.records.errors import BadValueError

ROWS = [{"text": f"row {at}", "n": at} for at in range(30)]


def values(what):
    return [entry.value for source in sources_of(what) for entry in source.read()]


class ByNumber:
    """What torch takes for a dataset."""

    def __len__(self):
        return len(ROWS)

    def __getitem__(self, at):
        if at == 3:
            msg = "a worker died"
            raise RuntimeError(msg)
        return ROWS[at]


def stream():
    yield from ROWS


@pytest.mark.parametrize(
    "what",
    [
        ROWS,
        tuple(ROWS),
        Dataset.from_list(ROWS),
        Dataset.from_list(ROWS).with_format("numpy"),
        IterableDataset.from_generator(stream),
        pa.Table.from_pylist(ROWS),
        pd.DataFrame(ROWS),
        dict(enumerate(ROWS)).values(),
    ],
)
def test_rows_in_memory_are_read_in_order(what):
    assert values(what) == ROWS


def test_a_dataset_that_fails_at_one_row_is_read_on():
    found = values(ByNumber())
    assert found[3] == Broken("the dataset raised RuntimeError: a worker died")
    assert found[:3] + found[4:] == ROWS[:3] + ROWS[4:]


def test_a_stream_that_fails_ends_there():
    def failing():
        yield ROWS[0]
        msg = "no network"
        raise OSError(msg)

    found = values(IterableDataset.from_generator(failing))
    assert found[0] == ROWS[0]
    assert found[1].says == "the dataset raised OSError: no network"
    assert len(found) == 2


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, ROWS[:10])))
    (tmp_path / "b.json").write_text(json.dumps(ROWS[10:20]))
    pq.write_table(pa.Table.from_pylist(ROWS[20:]), tmp_path / "c.parquet")
    (tmp_path / "README.md").write_text("no rows")
    return tmp_path


def test_a_folder_is_read_file_by_file(folder):
    assert values(folder) == values(str(folder)) == ROWS
    names = [source.name for source in sources_of(folder)]
    assert names == ["a.jsonl", "b.json", "c.parquet"]


def test_several_files_are_read_in_the_given_order(folder):
    assert values([folder / "b.json", folder / "a.jsonl"]) == ROWS[10:20] + ROWS[:10]
    assert values([str(folder / "b.json")]) == ROWS[10:20]


def test_what_save_to_disk_writes_is_read(tmp_path):
    Dataset.from_list(ROWS).save_to_disk(str(tmp_path / "saved"))
    assert values(tmp_path / "saved") == ROWS


def test_texts_in_a_list_are_rows():
    assert values(["one text", "another"]) == ["one text", "another"]


def test_one_broken_file_does_not_keep_the_others_from_being_read(folder):
    content = (folder / "c.parquet").read_bytes()
    (folder / "c.parquet").write_bytes(content[:-10])
    (folder / "loop.jsonl").symlink_to(folder / "loop.jsonl")
    found = values(folder)
    assert found[:20] == ROWS[:20]
    assert "cut off" in found[20].says
    assert "cannot be opened" in found[21].says
    assert len(found) == 22


def test_links_in_a_circle_end(folder):
    (folder / "inner").mkdir()
    (folder / "inner" / "up").symlink_to(folder)
    assert values(folder) == ROWS


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("nowhere.jsonl", "does not exist; pass the name"),
        ("a\0b.jsonl", "cannot be opened"),
        (7, "of type int; pass the name"),
        (None, "dataset is None; pass"),
        (iter(ROWS), "a list_iterator, which gives each row once"),
        ({"text": ["a"]}, r"a dict with text; .*from_dict"),
        (b"rows", "of type bytes"),
        (dict, "of type type"),
        (np.array(5), "has no length: len"),
        (["a.jsonl", {"text": "b"}], r"holds 'a\.jsonl', the name of a file"),
        ([{"text": "b"}, Path("a.txt")], r"holds 'a\.txt', the name of a file"),
    ],
)
def test_what_cannot_be_read_is_answered_with_what_can(what, said):
    with pytest.raises(BadValueError, match=said):
        sources_of(what)


def test_files_that_cannot_be_read_are_refused_by_name(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b")
    with pytest.raises(BadValueError, match=r"load_dataset\('csv'"):
        sources_of(tmp_path / "rows.csv")
    with pytest.raises(BadValueError, match="holds no file that ends in"):
        sources_of(tmp_path)
    (tmp_path / "loop.jsonl").symlink_to(tmp_path / "loop.jsonl")
    with pytest.raises(BadValueError, match="cannot be opened"):
        sources_of(tmp_path / "loop.jsonl")
    (tmp_path / "gone.jsonl").symlink_to(tmp_path / "missing")
    with pytest.raises(BadValueError, match="a link to what is not there"):
        sources_of(tmp_path / "gone.jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(BadValueError, match="is no file"):
        sources_of(tmp_path / "pipe.jsonl")


BAD_TEXT = pa.Array.from_buffers(
    pa.string(), 3, pa.array([b"abc", b"a\xffb", b"def"]).buffers()
)


@pytest.mark.parametrize("wrapped", [lambda table: table, Dataset])
def test_a_row_that_is_no_utf_8_is_named_and_the_others_are_read(wrapped):
    first, second, third = values(wrapped(pa.table({"text": BAD_TEXT})))
    assert (first, third) == ({"text": "abc"}, {"text": "def"})
    assert second.says.startswith("no UTF-8: ")


def test_a_time_in_a_zone_that_nobody_knows_is_named():
    times = pa.array([1, None], pa.timestamp("ms", tz="Nowhere/Bad"))
    first, second = values(pa.table({"text": ["a", "b"], "t": times}))
    assert first.says.startswith("no value: ")
    assert second == {"text": "b", "t": None}


def test_a_file_that_is_gone_when_its_turn_comes_is_named(folder):
    sources = sources_of(folder)
    (folder / "a.jsonl").unlink()
    (folder / "c.parquet").unlink()
    found = [entry.value for source in sources for entry in source.read()]
    assert found[0].says.startswith("cannot be read any more: [Errno 2]")
    assert found[1:-1] == ROWS[10:20]
    assert (type(found[-1]), found[-1].rows) == (Broken, 10)


def test_files_of_one_name_are_told_apart_by_their_folders(folder):
    for name in ("one", "two"):
        (folder / name).mkdir()
        (folder / name / "rows.jsonl").write_text(json.dumps(ROWS[0]))
    names = [source.name for source in sources_of(folder)]
    assert names[-2:] == ["one/rows.jsonl", "two/rows.jsonl"]


def test_a_folder_that_cannot_be_opened_is_named(folder, monkeypatch):
    (folder / "inner").mkdir()
    opened = os.scandir

    def denied(path):  # root may open everything
        if str(path).endswith("inner"):
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path)

    monkeypatch.setattr(os, "scandir", denied)
    found = values(folder)
    assert found[:-1] == ROWS
    assert "Permission denied" in found[-1].says
