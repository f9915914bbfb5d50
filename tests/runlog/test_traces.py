"""Traces on disk: what was written is read, and what is damaged says so."""

import json
import math
import os
import subprocess
import sys
from dataclasses import replace

import pyarrow as pa
import pytest

from ftlab.records.errors import RunFolderError, SchemaError
from ftlab.records.trace import Trace, TracedOp
from ftlab.runlog.schema import TRACE, VERSION
from ftlab.runlog.traces import read_trace, trace_folders, write_trace
from tests.views.traced import op, small_trace, update_trace


@pytest.fixture
def written(tmp_path):
    return write_trace(tmp_path, small_trace())


@pytest.mark.parametrize("trace", [small_trace(), update_trace(), Trace(0, 0, ())])
def test_what_was_written_is_read(tmp_path, trace):
    found = read_trace(write_trace(tmp_path, trace))
    assert repr(found.ops) == repr(trace.ops)
    assert found.ops == trace.ops
    for name in ("chain", "source", "batch_text", "sources", "culprit", "headline"):
        assert getattr(found, name) == getattr(trace, name), name
    assert str(found.report) == str(trace.report)


def test_folders_are_named_by_step_and_number(tmp_path):
    names = [write_trace(tmp_path, small_trace()).name for _ in range(3)]
    for step in (1000, 9, 1000000):
        write_trace(tmp_path, replace(small_trace(), step=step))
    assert names == ["step-000173", "step-000173-2", "step-000173-3"]
    found = trace_folders(tmp_path)
    assert list(found) == [9, 173, 1000, 1000000]
    assert [path.name for path in found[173]] == names
    assert trace_folders(tmp_path / "nowhere") == {}


def test_the_operations_are_an_arrow_file_that_explains_itself(written):
    table = pa.ipc.open_file(written / "ops.arrow").read_all()
    assert table.column_names == list(TRACE)
    assert table.num_rows == 13
    assert int(table.schema.metadata[b"ftlab.schema"]) == VERSION
    assert math.isinf(table.column("high")[5].as_py())


@pytest.mark.parametrize("name", ["ops.arrow", "trace.json"])
def test_a_missing_file_is_named(written, name):
    (written / name).unlink()
    with pytest.raises(RunFolderError, match=f"it has no {name}"):
        read_trace(written)


@pytest.mark.parametrize("name", ["ops.arrow", "trace.json"])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_torn_file_is_named(written, name, share):
    data = (written / name).read_bytes()
    (written / name).write_bytes(data[: int(len(data) * share)])
    with pytest.raises(RunFolderError, match="cannot be read"):
        read_trace(written)


def changed(written, **values):
    file = written / "trace.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))
    return written


@pytest.mark.parametrize(
    "values",
    [
        {"operations": 12},
        {"culprit": 13},
        {"culprit": "5"},
        {"sources": []},
        {"chain": [7]},
        {"batch_text": None},
    ],
)
def test_what_does_not_fit_together_is_refused(written, values):
    with pytest.raises(RunFolderError, match="cannot be read"):
        read_trace(changed(written, **values))


def test_an_operation_that_reads_from_a_later_one_is_refused(tmp_path):
    trace = replace(small_trace(), ops=(op(0, "a", 1.0, parents=(0,)),), culprit=0)
    with pytest.raises(RunFolderError, match="operation 0 refers to others"):
        read_trace(write_trace(tmp_path, trace))


def test_a_newer_schema_is_refused_by_number(written):
    with pytest.raises(SchemaError, match=f"schema {VERSION + 1}"):
        read_trace(changed(written, schema=VERSION + 1))


def test_fields_of_a_later_ftlab_are_left_out(written):
    assert read_trace(changed(written, colour="blue")).step == 173
    link = {"index": -1, "words": "in w", "weight": 3}
    assert read_trace(changed(written, chain=[link])).chain[0].words == "in w"


def test_texts_of_others_are_made_printable(tmp_path):
    evil = TracedOp(0, "aten\x1b[2J", module="a\x07", user_line="\x1b]0;x")
    path = write_trace(tmp_path, Trace(0, 0, (evil,), headline="\x1b[31m", text="a\nb"))
    found = read_trace(path)
    assert "\x1b" not in repr(found) + repr(found.ops)
    assert found.text == "a\nb"


FULL = """
import resource, sys
from pathlib import Path
from ftlab.runlog.traces import write_trace
from tests.views.traced import small_trace
resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    write_trace(Path(sys.argv[1]), small_trace())
except OSError as error:
    print(type(error).__name__, *Path(sys.argv[1]).rglob("*"))
"""


def test_where_nothing_can_be_written_nothing_is_left(tmp_path):
    command = [sys.executable, "-c", FULL, str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment
    )
    assert result.stdout.split() == ["OSError", str(tmp_path / "anomalies")]
