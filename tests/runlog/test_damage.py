"""A folder with garbage in one file opens, or says which file is damaged."""

import json
import os
import shutil
import warnings
from pathlib import Path

import pyarrow as pa
import pytest

from ftlab.records.errors import DamageWarning, FtlabError
from ftlab.rules.engine import Engine
from ftlab.runlog.reader import open_log
from ftlab.runlog.segment import segment_path, write_file
from ftlab.runlog.tail import read_segment
from tests.runlog.sample import logged

GARBAGE = {
    "empty": lambda _: b"",
    "half": lambda data: data[: len(data) // 2],
    "not text": lambda data: b"\xff\xfe\x00" + data,
    "a number": lambda _: b"3\n3\n",
    "null": lambda _: b"null\nnull\n",
    "no schema": lambda _: b'{"schema": null}\n{"bad": 1}\n',
    "odd schema": lambda _: b'{"schema": "x"}\n',
    "huge schema": lambda _: b'{"schema": 1e999}\n',
    "wrong line": lambda data: data + b'{"bad": 1}\n[]\n',
    "flipped": lambda data: bytes(
        byte ^ 0x55 if index % 50 == 7 else byte for index, byte in enumerate(data)
    ),
}


@pytest.fixture(scope="module")
def golden():
    return Path(__file__).parents[1] / "golden" / "schema-1"


def what_is_said(folder):
    """Open a folder; return its error or its warnings, which must be ftlab's own."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            open_log(folder)
        except FtlabError as error:
            return [str(error)]
    assert all(issubclass(each.category, DamageWarning) for each in caught)
    return [str(each.message) for each in caught]


@pytest.mark.parametrize("damage", GARBAGE)
def test_every_damaged_file_is_named(tmp_path, golden, damage):
    files = [path.relative_to(golden) for path in golden.rglob("*") if path.is_file()]
    for number, file in enumerate(files):
        folder = tmp_path / str(number)
        shutil.copytree(golden, folder)
        path = folder / file
        path.write_bytes(GARBAGE[damage](path.read_bytes()))
        said = what_is_said(folder)
        assert all(str(folder / file) in words for words in said), said
        assert said or file.name != "run.json", "damage was read as if it were sound"


@pytest.mark.parametrize(
    "put",
    [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/nowhere")],
    ids=["pipe", "folder", "link to nothing"],
)
def test_what_is_no_file_is_named_and_not_waited_for(tmp_path, golden, put):
    folder, files = tmp_path / "run", [golden / "run.json"]
    files += (path for path in (golden / "rank-00000").iterdir() if path.is_file())
    for file in files:
        shutil.copytree(golden, folder)
        path = folder / file.relative_to(golden)
        path.unlink()
        put(path)
        assert str(path) in "".join(what_is_said(folder))
        shutil.rmtree(folder)


def rewritten(path, change):
    """Write a segment as an Arrow IPC file after ``change``."""
    table = change(read_segment(path))
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)


def renamed(column):
    return lambda table: table.rename_columns(
        [f"{name}x" if name == column else name for name in table.column_names]
    )


def replaced(column, values):
    def change(table):
        at = table.column_names.index(column)
        return table.set_column(at, column, pa.array([values] * table.num_rows))

    return change


CHANGES = {
    "steps-000000": [
        renamed("lr"),
        renamed("step"),
        replaced("step", "first"),
        replaced("loss", [1.0]),
        replaced("lr", 3),
        replaced("step", None),
        replaced("step", 2**62),
    ],
    "ledger-000000": [
        renamed("index"),
        replaced("detail", "no JSON"),
        replaced("detail", "3"),
        replaced("op", 1),
    ],
    "eval-000000": [renamed("metric"), replaced("value", "high")],
    "tensors-000000": [renamed("id"), replaced("id", 1.5), replaced("grad_l2", "q")],
    "rollup64-tensors-000000": [renamed("grad_l2_high"), replaced("step", "q")],
}


@pytest.mark.parametrize(
    ("name", "change"),
    [(name, change) for name, changes in CHANGES.items() for change in changes],
)
def test_a_table_that_is_not_as_it_should_be_costs_only_itself(
    tmp_path, golden, name, change
):
    shutil.copytree(golden, tmp_path / "run")
    path = tmp_path / "run" / "rank-00000" / f"{name}.arrow"
    rewritten(path, change)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = open_log(tmp_path / "run")
        Engine().check(run)
    assert any(str(path) in str(each.message) for each in caught)
    assert all(issubclass(each.category, DamageWarning) for each in caught)
    assert run.events
    assert run.names()
    assert "tensors" in run.tables()


def test_names_that_no_view_can_draw_are_cut_or_left_out(tmp_path, golden):
    shutil.copytree(golden, tmp_path / "run")
    path = tmp_path / "run" / "rank-00000" / "names.jsonl"
    head, *lines = path.read_text().splitlines()
    first, second, third, *rest = map(json.loads, lines)
    first |= {"name": "n" * 10**6, "layer": "l" * 10**6, "meta": {"group": "m" * 10**6}}
    second["id"], third["shape"] = 2**31, [10**400]
    rest = map(json.dumps, [first, second, third, *rest])
    path.write_text("\n".join([head, *rest]) + "\n")
    with pytest.warns(DamageWarning, match="entries: 2; ValueError: id 2147483648"):
        run = open_log(tmp_path / "run")
    names = run.names(first["table"])
    kept = names[first["id"]]
    assert all(900 < len(e) < 1100 for e in (kept.name, kept.layer, kept.meta["group"]))
    assert 2**31 not in names


def test_bytes_that_are_no_text_are_named(tmp_path, golden):
    shutil.copytree(golden, tmp_path / "run")
    path = tmp_path / "run" / "rank-00001" / "ledger-000000.arrow"
    data = path.read_bytes()
    assert b"train" in data
    path.write_bytes(data.replace(b"train", b"\xffrain"))
    with pytest.warns(DamageWarning, match=r"ledger-000000.arrow' is damaged"):
        run = open_log(tmp_path / "run", rank=1)
    assert len(run.steps)


def test_a_table_in_the_place_of_another_is_left_out(tmp_path, golden):
    shutil.copytree(golden, tmp_path / "run")
    folder = tmp_path / "run" / "rank-00000"
    for name in ("steps", "ledger", "tensors"):
        shutil.copy(folder / "eval-000000.arrow", folder / f"{name}-000000.arrow")
    with pytest.warns(DamageWarning):
        run = open_log(tmp_path / "run")
    assert len(run.steps), "those of the other segments"


def test_of_steps_out_of_order_only_these_are_missing(tmp_path):
    logged(tmp_path / "run", 5)
    path = segment_path(tmp_path / "run" / "rank-00000", "steps", 0)
    write_file(path, read_segment(path).take([0, 1, 1, 2, 0, 3]))
    with pytest.warns(DamageWarning, match="rows out of order: 2; step 1"):
        run = open_log(tmp_path / "run")
    assert run.steps.step.tolist() == [0, 1, 2, 3]
    assert run.steps["tokens"].tolist() == [8] * 4
