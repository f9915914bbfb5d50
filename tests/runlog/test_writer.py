import json
import multiprocessing
import os
import random
import resource
import shutil
import subprocess
import time
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from ftlab.records.errors import FtlabWarning, RunFolderError
from ftlab.records.facts import Facts
from ftlab.records.names import NameRecord
from ftlab.records.step import Column, StepRecord
from ftlab.runlog.reader import open_log
from ftlab.runlog.run import Run
from ftlab.runlog.segment import Limits
from ftlab.runlog.writer import LogWriter
from tests.runlog.sample import block, check, logged, records, write

SMALL = Limits(segment_bytes=20_000)


def create(path, **options):
    return LogWriter.create(path, config={"lr": 0.1}, versions={}, **options)


def test_what_was_written_is_read_again(tmp_path):
    logged(tmp_path / "run", 200)
    run = open_log(tmp_path / "run")
    check(run, 200)
    assert run.meta["ended"] == "finished"
    assert run.meta["schema"] == 1


def test_what_was_committed_can_be_read_while_the_run_goes_on(tmp_path):
    writer = create(tmp_path / "run")
    for step in range(5):
        write(writer, step, step + 1)
        assert writer.last_committed_step == step
        check(open_log(tmp_path / "run"), step + 1)
    for record in records(5):
        writer.write(record)
    check(open_log(tmp_path / "run"), 5)
    writer.close("interrupted")
    check(open_log(tmp_path / "run"), 6)


def test_an_existing_folder_is_refused(tmp_path):
    with pytest.raises(RunFolderError, match=r"exists already.*run_dir="):
        create(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(RunFolderError, match="exists already"):
        create(tmp_path / "file")


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RunFolderError, match=r"cannot be written.*Pass run_dir="):
        create(tmp_path / "file" / "run")
    with pytest.raises(RunFolderError, match="cannot be written"):
        create("/proc/run")


def test_each_rank_has_its_folder_whichever_comes_first(tmp_path):
    writers = {rank: create(tmp_path / "run", rank=rank) for rank in (1, 0, 2)}
    for writer in writers.values():
        write(writer, 0, 3)
        writer.close("finished")
    for rank in writers:
        run = open_log(tmp_path / "run", rank=rank)
        check(run, 3)
        assert run.ranks == (0, 1, 2)
    with pytest.raises(RunFolderError, match="exists already"):
        create(tmp_path / "run", rank=1)
    with pytest.raises(RunFolderError, match="exists already"):
        create(tmp_path / "run")


def test_closed_segments_are_read_by_pandas_alone(tmp_path):
    logged(tmp_path / "run", 130, limits=SMALL)
    folder = tmp_path / "run" / "rank-00000"
    files = sorted(folder.glob("tensors-*.arrow"))
    assert len(files) > 1
    table = pd.concat(map(pd.read_feather, files))
    assert list(table)[:4] == ["step", "id", "grad_l2", "has_grad"]
    assert len(table) == 130 * 3
    assert table["weight_l2"].notna().sum() == 9 * 3
    steps = pd.read_feather(folder / "steps-000000.arrow")
    assert steps["loss"].iloc[1] == 1.0
    rolled = pd.read_feather(folder / "rollup64-tensors-000000.arrow")
    assert set(rolled["step"]) == {0, 64, 128}
    assert rolled["grad_l2_high"].iloc[0] == 63.5


def test_columns_say_what_they_mean(tmp_path):
    writer = create(tmp_path / "run")
    writer.declare("mine", [Column("height", "m", "How high it is.")])
    writer.write(block(0, grad_l2=[1, 2, 3]))
    writer.write(block(0, table="mine", height=[1, 2, 3], other=[1, 2, 3]))
    writer.close("finished")

    def meaning(table, column):
        path = tmp_path / "run" / "rank-00000" / f"{table}-000000.arrow"
        return pa.ipc.open_file(pa.memory_map(str(path))).schema.field(column).metadata

    assert meaning("tensors", "grad_l2")[b"meaning"].startswith(b"L2 norm of the acc")
    assert meaning("mine", "height") == {b"unit": b"m", b"meaning": b"How high it is."}
    assert meaning("mine", "other")[b"meaning"] == b"other"


def test_new_columns_and_rows_begin_to_be_logged_on_the_way(tmp_path):
    writer, expected = create(tmp_path / "run"), Run()
    for step in range(4):
        entries = [block(step, range(step + 1), grad_l2=range(step + 1))]
        if step > 1:
            entries.append(block(step, [9], table="adapters", ratio=[step]))
            entries.append(block(step, [0], grad_max=[step]))
        entries.append(StepRecord(step, 0.0, values={f"value{step}": 1.0}))
        for entry in entries:
            writer.write(entry)
            expected.append(entry)
        writer.commit()
    writer.close("finished")
    run = open_log(tmp_path / "run")
    for column, table in (
        ("grad_l2", "tensors"),
        ("grad_max", "tensors"),
        ("ratio", "adapters"),
    ):
        found, wanted = run.matrix(column, table), expected.matrix(column, table)
        np.testing.assert_array_equal(found.values, wanted.values)
        np.testing.assert_array_equal(found.known, wanted.known)
    assert run.steps.known("value2").tolist() == [False, False, True, False]
    assert sorted(run.steps.columns) == sorted(expected.steps.columns)


def test_nan_and_not_measured_survive(tmp_path):
    writer = create(tmp_path / "run")
    nan = float("nan")
    writer.write(block(0, has_grad=[1, 0, 1], grad_l2=[nan, nan, np.inf]))
    writer.write(StepRecord(0, 0.0, loss=nan))
    writer.commit()
    run = open_log(tmp_path / "run")
    assert run.matrix("grad_l2").known.tolist() == [[True, False, True]]
    assert run.steps.known("loss").tolist() == [True]
    assert run.steps.known("grad_norm").tolist() == [False]
    writer.close("finished")
    assert open_log(tmp_path / "run").matrix("grad_l2").nonfinite.sum() == 2


def test_later_facts_and_names_are_kept_too(tmp_path):
    writer = create(tmp_path / "run")
    history = [
        Facts(step=step, versions={"torch": "2"}, optimizers=({"class": "Adam"},))
        for step in (0, 3, 5)
    ]
    names = [
        NameRecord(0, "tensors", "w", "param", "head", (2, 3), meta={"group": 1}),
        NameRecord(0, "tensors", "w", "param", "head", (2, 3), trainable=False),
    ]
    for record in (*names, *history):
        writer.write(record)
        writer.commit()
    run = open_log(tmp_path / "run")
    assert run.facts_history == history
    assert run.names() == {0: names[-1]}
    for name in ("names.jsonl", "facts-changes.jsonl", "events.jsonl"):
        writer.close("finished")
        lines = (tmp_path / "run" / "rank-00000" / name).read_text().splitlines()
        assert json.loads(lines[0])["schema"] == 1


def test_closing_twice_and_writing_after_it_do_nothing(tmp_path):
    writer = create(tmp_path / "run")
    write(writer, 0, 2)
    writer.close("finished")
    writer.close("failed: late")
    write(writer, 2, 3)
    run = open_log(tmp_path / "run")
    check(run, 2)
    assert run.meta["ended"] == "finished"


def go_on(writer, first, last):
    """Do as a training does that knows nothing of a broken log."""
    write(writer, first, last)
    writer.close("finished")


def test_a_vanished_folder_ends_logging_with_one_warning(tmp_path):
    writer = create(tmp_path / "run", limits=SMALL)
    write(writer, 0, 2)
    writer.write(block(2, table="new", size=[1, 2, 3]))
    shutil.rmtree(tmp_path / "run")
    with pytest.warns(FtlabWarning, match=r"Logging to .* stopped.*step 1") as caught:
        go_on(writer, 3, 6)
    assert len(caught) == 1
    assert isinstance(writer.broken, FileNotFoundError)
    assert writer.last_committed_step == 1


def until_broken(path, pipe, size):
    """Log under a limit on the size of files, as a quota would set it."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        writer = create(path)
        write(writer, 0, 300)
        writer.close("finished")
    pipe.send((writer.last_committed_step, len(caught), str(caught[0].message)))


@pytest.mark.parametrize("size", [10_000, 20_001, 33_333])
def test_a_quota_ends_logging_with_one_warning(tmp_path, size):
    ours, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("fork")
    child = context.Process(target=until_broken, args=(tmp_path / "run", theirs, size))
    child.start()
    child.join()
    last, number, message = ours.recv()
    assert 3 < last < 299
    assert number == 1
    assert "File too large" in message
    run = open_log(tmp_path / "run")
    assert run.last_step >= last
    check(run, run.last_step + 1)


def refused_at_once(path, pipe):
    """Begin a log where a folder can be made, and no byte written."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    try:
        create(path)
    except RunFolderError as error:
        pipe.send(str(error))
    pipe.close()


def test_a_disk_that_is_full_at_the_start_is_named_and_nothing_is_left(tmp_path):
    ours, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("fork")
    path = tmp_path / "run"
    child = context.Process(target=refused_at_once, args=(path, theirs))
    child.start()
    theirs.close()
    child.join()
    said = ours.recv()
    assert "cannot be written" in said
    assert "File too large" in said
    assert not path.exists(), "a second try must not find it taken"


def test_a_full_disk_ends_logging_with_one_warning(tmp_path):
    command = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(tmp_path)]
    if (
        shutil.which("mount") is None
        or subprocess.run(command, capture_output=True).returncode
    ):
        pytest.skip("mounting a small tmpfs needs root; the quota test stands in")
    try:
        writer = create(tmp_path / "run")
        with pytest.warns(FtlabWarning, match="No space left") as caught:
            go_on(writer, 0, 300)
        assert len(caught) == 1
        run = open_log(tmp_path / "run")
        assert run.last_step >= writer.last_committed_step > 3
        check(run, run.last_step + 1)
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def log_until_killed(path, pipe):
    writer = create(path, limits=SMALL)
    for step in range(100_000):
        write(writer, step, step + 1)
        os.write(pipe, step.to_bytes(4, "little"))


@pytest.mark.parametrize("seed", range(12))
def test_a_killed_process_loses_nothing_that_was_committed(tmp_path, seed):
    reading, writing = os.pipe()
    context = multiprocessing.get_context("fork")
    child = context.Process(target=log_until_killed, args=(tmp_path / "run", writing))
    child.start()
    os.close(writing)
    reported = os.read(reading, 4)
    time.sleep(random.Random(seed).uniform(0, 0.3))
    child.kill()
    child.join()
    while more := os.read(reading, 2**16):
        reported = (reported + more)[-4:]
    os.close(reading)
    run = open_log(tmp_path / "run")
    assert run.last_step >= int.from_bytes(reported, "little")
    check(run, run.last_step + 1)
