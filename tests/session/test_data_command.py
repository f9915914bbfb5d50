"""``ftlab data`` as a user types it."""

import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ftlab.records.errors import FtlabError
from ftlab.session import data_command, data_scanning
from ftlab.session.data_command import DataCommand, run_data
from tests.probes.tokens import vocabularies
from tests.session.test_data import Interrupting, answered, chat, scanned
from tests.test_cli import ftlab, here


@pytest.fixture
def folder(tmp_path):
    vocabularies.byte_level().save_pretrained(tmp_path / "tokenizer")
    write(tmp_path / "good.jsonl", chat())
    write(tmp_path / "bad.jsonl", answered(chat(), 5, ""))
    return tmp_path


def write(path, rows):
    path.write_text("\n".join(map(json.dumps, rows)))


def test_healthy_data_is_exit_0_with_a_text_that_is_always_the_same(folder):
    asked = "data", folder / "good.jsonl", "--tokenizer", folder / "tokenizer"
    done = [ftlab(*asked), here(*asked)]
    assert [each.returncode for each in done] == [0, 0]
    assert done[0].stdout == done[1].stdout
    assert done[0].stdout.startswith("Data: good.jsonl, 40 rows (messages 40): nothing")
    assert "rows/s; near duplicates" in done[0].stderr


def test_faults_are_exit_1_and_the_copy_is_without_them(folder):
    new = folder / "new.jsonl"
    done = here("data", folder / "bad.jsonl", "--write", new, "--no-near")
    assert done.returncode == 1
    assert "WARNING DAT058 empty-answer" in done.stdout
    assert "where  line 6, messages[1].content: nothing" in done.stdout
    assert "new.jsonl: 39 rows, 1 left out" in done.stderr
    assert here("data", new).returncode == 0
    again = here("data", folder / "bad.jsonl", "--write", new)
    assert again.returncode == 2
    assert "exists; name a new file" in again.stderr


def test_json_can_be_read_by_machines(folder):
    options = ("--eval", folder / "good.jsonl", "--max-length", "2000", "--json")
    done = here("data", folder / "bad.jsonl", *options)
    told = json.loads(done.stdout)
    assert done.returncode == 1
    assert (told["rows"], told["complete"]) == (40, True)
    names = {issue["name"]: issue["rows"] for issue in told["issues"]}
    assert names == {
        "empty-answer": 1,
        "leaked-evaluation-row": 39,
        "leaked-evaluation-prompt": 1,
    }
    assert told["issues"][0]["spots"][0]["place"] == "line 1"


def test_a_broken_file_among_others_is_exit_1_and_alone_exit_2(folder):
    rows = folder / "rows"
    rows.mkdir()
    write(rows / "a.jsonl", chat())
    pq.write_table(pa.Table.from_pylist(chat()), rows / "b.parquet")
    (rows / "b.parquet").write_bytes((rows / "b.parquet").read_bytes()[:-9])
    done = here("data", rows)
    assert done.returncode == 1
    assert "41 rows (messages 40): 1 error" in done.stdout
    assert "cut off: fetch it anew" in done.stdout.replace("\n         ", " ")
    alone = here("data", rows / "b.parquet")
    assert (alone.returncode, alone.stdout) == (2, "")
    assert "cannot be read as Parquet" in alone.stderr
    assert "Traceback" not in alone.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("data", "missing.jsonl"), "does not exist"),
        (("data", "good.jsonl", "--tokenizer", "missing"), "is not a folder"),
        (("data", "good.jsonl", "--tokenizer", "."), "contains no tokenizer"),
        (("data", "good.jsonl", "--drop", "empty-answer"), "name the copy: --write"),
        (("data", "good.jsonl", "--write", "n.jsonl", "--drop", "empty"), "near ones"),
        (("data",), "Usage:"),
    ],
)
def test_what_cannot_be_read_is_exit_2_and_no_traceback(folder, arguments, said):
    done = here(*arguments, folder=folder)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_scan_that_was_stopped_is_exit_130_and_shows_what_it_has(monkeypatch, capsys):
    stopped = scanned(Interrupting())
    monkeypatch.setattr(data_command, "data", lambda *_, **__: stopped)
    asked = DataCommand((Path("rows.jsonl"),), write=Path("new.jsonl"))
    assert run_data(asked, sys.stdout) == 130
    said = capsys.readouterr()
    assert "stopped before the end" in said.out
    assert "new.jsonl was not written: the scan was stopped" in said.err
    assert not Path("new.jsonl").exists()


def test_a_search_that_was_stopped_is_exit_130_and_writes_no_copy(
    monkeypatch, capsys, folder
):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(data_scanning, "near_pass", interrupted)
    new = folder / "new.jsonl"
    assert run_data(DataCommand((folder / "bad.jsonl",), write=new), sys.stdout) == 130
    said = capsys.readouterr()
    assert "rows that are almost the same: stopped" in said.out
    assert "--no-near leaves out" in said.err
    assert not new.exists()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"write": "bad.jsonl"}, "exists; name a new file"),
        ({"write": "new.jsonl", "drop": ("empty-answers",)}, "near ones"),
    ],
)
def test_a_copy_that_cannot_be_made_is_refused_before_the_scan(
    monkeypatch, folder, asked, said
):
    monkeypatch.setattr(data_command, "data", None)  # nothing is read
    asked = asked | {"write": folder / asked["write"]}
    with pytest.raises(FtlabError, match=said):
        run_data(DataCommand((folder / "good.jsonl",), **asked), sys.stdout)


def test_names_of_files_are_escaped_on_a_terminal(folder):
    done = here("data", folder / "no\x1b[31m.jsonl")
    assert (done.returncode, "\x1b" in done.stderr) == (2, False)
    assert r"no\x1b[31m.jsonl does not exist" in done.stderr
