import json
import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from ftlab.records.errors import RunFolderError, SchemaError
from ftlab.runlog.reader import open_log
from ftlab.runlog.segment import Limits
from ftlab.runlog.writer import LogWriter
from tests.runlog.sample import IDS, block, check, filled, grad, logged, write

SMALL = Limits(segment_bytes=20_000)
STEPS = 8


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A run whose process was killed: all its segments are still growing."""
    path = tmp_path_factory.mktemp("killed") / "run"
    logged(path, STEPS, ended=None)
    return path


@pytest.mark.parametrize("name", ["steps", "tensors", "ledger"])
@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_a_segment_cut_at_any_byte_is_read_up_to_its_last_whole_batch(
    killed, tmp_path, name, data
):
    path = tmp_path / "run"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(killed, path)
    file = path / "rank-00000" / f"{name}-000000.arrow"
    whole = file.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    file.write_bytes(whole[:cut])
    run = open_log(path)
    if name == "steps" and len(run.steps):
        check(run, len(run.steps))
    expected = filled(STEPS)
    found = run.matrix("grad_l2")
    wanted = expected.matrix("grad_l2", stop=len(found.steps))
    np.testing.assert_array_equal(found.steps, wanted.steps)
    assert name != "tensors" or cut < len(whole) or len(found.steps) == STEPS
    if len(found.steps):
        np.testing.assert_array_equal(found.values, wanted.values)
    shorter = open_log(path).window(0)
    assert shorter.ledger == [e for e in expected.ledger if e in shorter.ledger]


@pytest.mark.parametrize("apart", [64, pytest.param(8, marks=pytest.mark.slow)])
def test_every_cut_that_spares_a_batch_keeps_it(killed, tmp_path, apart):
    path = tmp_path / "run"
    shutil.copytree(killed, path)
    file = path / "rank-00000" / "steps-000000.arrow"
    whole = file.read_bytes()
    lengths = []
    for cut in (*range(0, len(whole), apart), len(whole)):
        file.write_bytes(whole[:cut])
        lengths.append(len(open_log(path).steps))
    assert lengths == sorted(lengths)
    assert set(lengths) == set(range(STEPS + 1))


def test_zeros_after_the_last_batch_are_no_batch(killed, tmp_path):
    path = tmp_path / "run"
    shutil.copytree(killed, path)
    for file in (path / "rank-00000").glob("*.arrow"):
        file.write_bytes(file.read_bytes() + bytes(4096))
    check(open_log(path), STEPS)


def test_a_torn_line_is_left_out(killed, tmp_path):
    path = tmp_path / "run"
    shutil.copytree(killed, path)
    file = path / "rank-00000" / "events.jsonl"
    lines = [
        json.dumps({"kind": "note", "step": 0, "time": 0, "message": "é", "detail": {}})
        for _ in range(3)
    ]
    whole = file.read_bytes() + "\n".join(lines).encode() + b"\n"
    for cut in range(len(whole) + 1):
        file.write_bytes(whole[:cut])
        assert len(open_log(path).events) == max(0, whole[:cut].count(b"\n") - 1)


@pytest.mark.parametrize("budget", [0, 3_000, 30_000, 2**26])
@pytest.mark.parametrize("ended", ["finished", None])
def test_what_memory_does_not_hold_is_read_from_disk(tmp_path, budget, ended):
    logged(tmp_path / "run", 500, limits=SMALL, ended=ended)
    check(open_log(tmp_path / "run", budget=budget), 500)


def test_coarse_windows_are_read_too(tmp_path):
    logged(tmp_path / "run", 4200, ended=None, every=50)
    for budget in (0, 2**26):
        check(open_log(tmp_path / "run", budget=budget), 4200)


def test_reads_a_range_across_memory_and_disk(tmp_path):
    logged(tmp_path / "run", 500, limits=SMALL)
    run = open_log(tmp_path / "run", budget=3_000)
    oldest = run._store.tables["tensors"].oldest
    assert oldest > 100
    matrix = run.matrix("grad_l2", start=90, stop=oldest + 5)
    assert matrix.steps.tolist() == list(range(90, oldest + 5))
    np.testing.assert_array_equal(matrix.values[3], grad(93))
    assert run.window(100, 110).matrix("grad_l2").steps.tolist() == list(
        range(100, 110)
    )
    missing = run.matrix("moment1_l2", start=90, stop=95)
    assert missing.shape == (5, 3)
    assert not missing.known.any()


def test_rows_that_come_and_go_are_read_from_disk(tmp_path):
    writer = LogWriter.create(tmp_path / "run", config={}, versions={})
    for step in range(200):
        ids = IDS if step % 3 else IDS[:2]
        writer.write(block(step, ids, grad_l2=ids + step))
        writer.commit()
    writer.close("finished")
    near, far = (open_log(tmp_path / "run", budget=size) for size in (2**26, 0))
    for resolution in (1, 64):
        found, wanted = (
            run.matrix("grad_l2", resolution=resolution) for run in (far, near)
        )
        np.testing.assert_array_equal(found.values, wanted.values)
        np.testing.assert_array_equal(found.known, wanted.known)
    assert near.matrix("grad_l2").known.sum() == 200 * 3 - 67


def test_a_live_run_with_a_folder_reads_back_what_memory_let_go(tmp_path):
    logged(tmp_path / "run", 300, ended=None)
    live = filled(300, path=tmp_path / "run", budget=1_000)
    assert live._store.tables["tensors"].oldest >= 256
    check(live, 300)
    assert not live.refresh()


def test_a_run_without_follow_stands_still(tmp_path):
    writer = LogWriter.create(tmp_path / "run", config={}, versions={})
    write(writer, 0, 3)
    run = open_log(tmp_path / "run")
    write(writer, 3, 4)
    assert not run.refresh()
    check(run, 3)
    writer.close("finished")


def test_a_newer_schema_is_refused_by_version(tmp_path):
    logged(tmp_path / "run", 2)
    file = tmp_path / "run" / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"schema": 7}))
    with pytest.raises(
        SchemaError, match=r"schema 7; this ftlab.*up to 1.*pip install"
    ):
        open_log(tmp_path / "run")


@pytest.mark.parametrize("name", ["names.jsonl", "facts.json", "events.jsonl"])
def test_a_newer_schema_of_one_file_is_refused_too(tmp_path, name):
    logged(tmp_path / "run", 2)
    file = tmp_path / "run" / "rank-00000" / name
    file.write_text('{"schema": 2}\n')
    with pytest.raises(SchemaError, match=name):
        open_log(tmp_path / "run")


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(RunFolderError, match=r"has no run\.json"):
        open_log(tmp_path)
    with pytest.raises(RunFolderError, match="is no folder"):
        open_log(tmp_path / "nothing")
    logged(tmp_path / "run", 2)
    with pytest.raises(RunFolderError, match=r"no rank 3; its ranks are 0\. Pass"):
        open_log(tmp_path / "run", rank=3)
    (tmp_path / "run" / "run.json").write_text("{")
    with pytest.raises(RunFolderError, match="is damaged"):
        open_log(tmp_path / "run")
