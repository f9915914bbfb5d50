"""A watched run that is debugged leaves traces, which another process walks."""

import contextlib
import subprocess
import sys
import warnings
from pathlib import Path

import torch

import ftlab
from ftlab.records.errors import FtlabWarning
from ftlab.runlog.traces import read_trace, trace_folders
from tests.disks import disk_of
from tests.replay.breakage import Setup


def debugged(setup, **options):
    return ftlab.debug(
        setup.step, setup.feed, model=setup.model, optimizer=setup.optimizer, **options
    )


def record(folder, setup=None, **options):
    """Stop once under watch and debug, and let the run go on to its end."""
    setup = setup or Setup()
    with ftlab.watch(setup.model, setup.optimizer, run_dir=folder) as watch:
        with debugged(setup, **options) as dbg:
            report = dbg.run()
            live = dbg.trace
            setup.bad = -1
            dbg.abort()
        events = [each for each in watch.run.events if "trace" in each.detail]
    return report, live, events


def told_by(command):
    """Return ftlab's warnings while a command runs, which ends at an anomaly."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert command().reason == "anomaly"
    return [each for each in told if each.category is FtlabWarning]


WALK = """
import sys
import ftlab
replay = ftlab.open_run(sys.argv[1]).replay()
print(replay)
print(replay.culprit.module, replay.culprit.user_line)
print(replay.back("module").op.index, replay.step().op.index, replay.at(0).op.op)
print(len(replay.table()), len(replay.figure().axes), len(replay.widget().body) > 1000)
assert "torch" not in sys.modules, "torch was imported"
"""


def test_another_process_walks_it_without_torch(tmp_path):
    setup = Setup()
    report, live, _ = record(tmp_path / "run", setup)
    command = [sys.executable, "-c", WALK, str(tmp_path / "run")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[:-3] == repr(live).splitlines()
    assert lines[-3] == f"{setup.module} {report.user_line}"
    culprit = live.culprit.index
    before, after, first = lines[-2].split()
    assert int(before) < culprit
    assert (int(after), first) == (int(before) + 1, "aten.embedding.default")
    assert lines[-1] == f"{report.operations} 2 True"


def test_what_is_read_is_what_the_debugger_showed(tmp_path):
    _, live, _ = record(tmp_path / "run")
    ((folder,),) = trace_folders(tmp_path / "run" / "rank-00000").values()
    assert folder.name == "step-000002"
    found = read_trace(folder)
    assert found.ops == live.trace.ops
    assert found.chain == live.trace.chain
    assert found.text == live.trace.text


def test_the_log_tells_where_the_trace_is(tmp_path):
    report, _, events = record(tmp_path / "run")
    (event,) = events
    assert (event.kind, event.step) == ("note", 2)
    assert event.detail["trace"] == "anomalies/step-000002"
    assert event.detail["op"] == report.op
    assert "replay(2)" in event.message
    recorded = ftlab.open_run(tmp_path / "run").run.events
    assert [each.detail for each in recorded if "trace" in each.detail] == [
        event.detail
    ]


def test_looking_and_trying_at_a_stop_write_no_second_trace(tmp_path):
    setup = Setup()
    with (
        ftlab.watch(setup.model, setup.optimizer, run_dir=tmp_path / "run"),
        debugged(setup) as dbg,
    ):
        dbg.run()
        assert dbg.patch(torch.nan_to_num).reason == "anomaly"
        dbg.back()
        dbg.step()
        folders = trace_folders(tmp_path / "run" / "rank-00000")
    assert [len(each) for each in folders.values()] == [1]


def test_a_stop_that_is_no_anomaly_leaves_no_trace(tmp_path):
    setup = Setup(bad=-1)

    def step(batch):
        if setup.calls == 0:
            dbg.interrupt()
        return setup.loss(batch).backward()

    dbg = ftlab.debug(step, setup.feed[:1], model=setup.model)
    with ftlab.watch(setup.model, setup.optimizer, run_dir=tmp_path / "run"), dbg:
        dbg.run()
        assert dbg.back().reason == "back"
        assert dbg.trace is not None
    assert trace_folders(tmp_path / "run" / "rank-00000") == {}


def test_each_anomaly_has_a_trace(tmp_path):
    setup = Setup()
    with (
        ftlab.watch(setup.model, setup.optimizer, run_dir=tmp_path / "run") as watch,
        debugged(setup) as dbg,
    ):
        dbg.run()
        dbg.resume()
        assert watch.replay(3).culprit is not None
    run = ftlab.open_run(tmp_path / "run")
    assert "Step 2, " in repr(run.replay())
    assert "Step 3, " in repr(run.replay(3))


def test_without_a_watch_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with debugged(Setup()) as dbg:
        dbg.run()
        assert dbg.trace.culprit.op == "aten.log.default"
    assert list(tmp_path.iterdir()) == []


def test_an_update_that_goes_wrong_is_recorded_too(tmp_path):
    setup = Setup(bad=-1)
    weight = next(p for p in setup.model.parameters() if p.requires_grad)
    hook = weight.register_hook(lambda grad: grad * 1e24 + 1e22)
    report, live, _ = record(tmp_path / "run", setup)
    hook.remove()
    assert report.phase == "optimizer"
    replay = ftlab.open_run(tmp_path / "run").replay()
    assert repr(replay) == repr(live)
    assert replay.summary.columns == ("optimizer",)


def test_weights_are_those_of_a_run_without_traces(tmp_path):
    def trained(folder=None):
        setup = Setup()
        setup.feed = setup.feed[:3]
        watch = contextlib.nullcontext()
        if folder is not None:
            watch = ftlab.watch(setup.model, setup.optimizer, run_dir=folder)
        with watch, debugged(setup) as dbg:
            dbg.run()
            dbg.resume()
        return setup.weights()

    torch.testing.assert_close(
        trained(tmp_path / "run"), trained(), rtol=0, atol=0, equal_nan=True
    )


def test_a_disk_that_takes_nothing_warns_once_and_training_goes_on(tmp_path):
    setup = Setup()
    run = tmp_path / "run"
    with (
        ftlab.watch(setup.model, setup.optimizer, run_dir=run) as watch,
        debugged(setup) as dbg,
    ):
        (run / "rank-00000" / "anomalies").write_text("in the way")
        told = told_by(dbg.run) + told_by(dbg.resume)
        assert [str(each.message)[:37] for each in told] == [
            "The trace of step 2 was not written: "
        ]
        assert dbg.trace is not None
        assert dbg.resume().state == "finished"
    assert len(watch.run.steps) == len(setup.feed)
    assert watch.run.last_step == 3
    assert watch.logged_step == 3


# Without root, the test above has a file in the way instead.
small_disk = disk_of("64k")


def test_a_full_disk_leaves_nothing_of_a_trace(small_disk: Path):
    setup = Setup()
    with (
        ftlab.watch(setup.model, setup.optimizer, run_dir=small_disk / "run"),
        debugged(setup) as dbg,
    ):
        (small_disk / "ballast").write_bytes(bytes(8 * 4096))
        assert "No space left" in str(told_by(dbg.run)[0].message)
        assert trace_folders(small_disk / "run" / "rank-00000") == {}
        dbg.abort()
