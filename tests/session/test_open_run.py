"""The same views over a run that is over, and over one that still grows."""

import json
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

import ftlab
from ftlab.records.errors import BadValueError, RunFolderError
from ftlab.records.step import StepRecord
from ftlab.rules.engine import Engine
from ftlab.runlog.writer import LogWriter
from ftlab.session.summary import print_verdict
from ftlab.session.verdict import judge
from ftlab.session.watch import Watch
from tests.models import batches, tiny_lora

SICK = Path(__file__).parents[1] / "golden" / "schema-1"


def train(model: torch.nn.Module, watch_dir: Path, steps: int) -> Watch:
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-2)
    watch = ftlab.watch(model, optimizer, run_dir=watch_dir, interval=2)
    for batch in batches(steps):
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()
    return watch


def test_an_opened_run_shows_what_the_watch_showed(tmp_path: Path) -> None:
    model = tiny_lora()
    watch = train(model, tmp_path / "run", 12)
    watch.detach()
    opened = ftlab.open_run(tmp_path / "run")
    for name in ("gradients", "lora", "loss", "findings"):
        live, recorded = getattr(watch, name), getattr(opened, name)
        assert repr(recorded) == repr(live), name
        pd.testing.assert_frame_equal(recorded.table(), live.table())
    assert opened.run.meta["ended"] == "detached"


def test_an_opened_run_counts_as_one_speaks(tmp_path: Path) -> None:
    model = tiny_lora()
    train(model, tmp_path / "run", 1).detach()
    said = repr(ftlab.open_run(tmp_path / "run"))
    assert said == "RecordedRun(1 step, 0 findings, detached)"


def test_a_followed_run_grows_with_the_watch(tmp_path: Path) -> None:
    model = tiny_lora()
    watch = train(model, tmp_path / "run", 3).sync()
    opened = ftlab.open_run(tmp_path / "run", follow=True)
    before = len(opened.run.steps)
    watch.detach()
    assert before >= 2
    assert len(opened.run.steps) == 3
    assert len(opened.loss.table()) == 3


@pytest.mark.parametrize("path", [None, 3, b"run", ["run"]])
def test_what_is_no_path_is_refused_with_one_that_is(path: Any) -> None:
    with pytest.raises(BadValueError, match=r"path=.* pass that .*open_run\('runs/"):
        ftlab.open_run(path)
    with pytest.raises(BadValueError, match=r"path=.*open_snapshot\('snapshots/"):
        ftlab.open_snapshot(path)
    if path is not None:
        with pytest.raises(BadValueError, match=r"run_dir=.* run_dir='runs/mine'"):
            ftlab.watch(tiny_lora(), run_dir=path)


@pytest.mark.parametrize("path", ["x" * 5000, "/tmp/" + "x/" * 3000, "a\0b", ""])
def test_a_path_that_no_disk_has_is_no_folder(path: str) -> None:
    for reader in (ftlab.open_run, judge, ftlab.open_snapshot):
        with pytest.raises(RunFolderError, match=r"it (is no folder|has no )") as error:
            reader(path)
        assert len(str(error.value)) < 400


@pytest.mark.parametrize("rank", ["a", None, 1.5, [0], -1, 10**30])
def test_a_rank_that_there_is_not_is_answered_with_those_there_are(rank: Any) -> None:
    with pytest.raises(RunFolderError, match=r"its ranks are 0, 1\. Pass one of them"):
        ftlab.open_run(SICK, rank=rank)


def test_numbers_beyond_those_of_a_drawing_are_no_warnings_in_the_cell(
    tmp_path: Path,
) -> None:
    writer = LogWriter.create(tmp_path / "run", config={}, versions={})
    for step in range(4):
        writer.write(StepRecord(step=step, time=0.0, loss=1e308))
    writer.close("finished")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss = ftlab.open_run(tmp_path / "run").loss
        assert "4" in repr(loss)
        loss.widget()


def test_findings_of_a_recorded_run_are_judged_anew(tmp_path: Path) -> None:
    model = tiny_lora()
    optimizer = torch.optim.AdamW(model.base_model.model.lm_head.parameters(), lr=1e-2)
    with ftlab.watch(model, optimizer, run_dir=tmp_path / "run"):
        for batch in batches(3):
            model(**batch).loss.backward()
            optimizer.step()
    (tmp_path / "run" / "rank-00000" / "events.jsonl").unlink()
    assert "OPT002" in {each.code for each in ftlab.open_run(tmp_path / "run").findings}


@pytest.mark.filterwarnings("ignore::ftlab.records.errors.FtlabWarning")
def test_a_view_of_numbers_does_not_wait_for_the_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(tiny_lora(), tmp_path / "run", 3).detach()
    asked = []
    monkeypatch.setattr(Engine, "check", lambda _, run: asked.append(run))
    opened = ftlab.open_run(tmp_path / "run")
    assert "steps 0-2" in repr(opened.gradients)
    assert asked == []


def test_nothing_of_a_foreign_folder_commands_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "\x1b[31mEVIL\x1b]0;title\x07\u202e\x00"
    shutil.copytree(SICK, tmp_path / "run")
    files = tmp_path / "run" / "rank-00000"

    def spoiled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: spoiled(each) for key, each in value.items()}
        if isinstance(value, list):
            return [spoiled(each) for each in value]
        return f"{evil}{value}" if isinstance(value, str) else value

    meta = tmp_path / "run" / "run.json"
    meta.write_text(json.dumps(json.loads(meta.read_text()) | {"ended": evil}))
    facts = files / "facts.json"
    facts.write_text(json.dumps(spoiled(json.loads(facts.read_text()))))
    (files / f"bad{evil[:-1]}-000000.arrow").write_bytes(b"ARROW1")
    run = ftlab.open_run(tmp_path / "run")
    print_verdict(judge(tmp_path / "run"), sys.stdout)
    views = (run, run.run, run.findings, run.checklist, run.seeds, run.schedule)
    said = "\n".join([capsys.readouterr().out, *map(repr, views)])
    assert not set("\x1b\x07\u202e\x00") & set(said)
    assert r"\x1b[31mEVIL" in said
