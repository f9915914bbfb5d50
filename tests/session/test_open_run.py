"""The same views over a run that is over, and over one that still grows."""

from pathlib import Path

import pandas as pd
import torch

import ftlab
from ftlab.session.watch import Watch
from tests.models import batches, tiny_lora


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


def test_findings_of_a_recorded_run_are_judged_anew(tmp_path: Path) -> None:
    model = tiny_lora()
    optimizer = torch.optim.AdamW(model.base_model.model.lm_head.parameters(), lr=1e-2)
    with ftlab.watch(model, optimizer, run_dir=tmp_path / "run"):
        for batch in batches(3):
            model(**batch).loss.backward()
            optimizer.step()
    (tmp_path / "run" / "rank-00000" / "events.jsonl").unlink()
    assert "OPT002" in {each.code for each in ftlab.open_run(tmp_path / "run").findings}
