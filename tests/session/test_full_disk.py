"""Promise 5 again: a full disk ends the log with one warning, and not the training."""

from pathlib import Path

import pytest
import torch

import ftlab
from ftlab.faults.builders.tiny import trainable
from ftlab.records.errors import FtlabWarning
from ftlab.session.watch import Watch
from tests.disks import disk_of
from tests.models import batches, tiny_lora

STEPS = 150


# Without root, tests/runlog/test_writer.py has a quota instead.
small_disk = disk_of("192k")


def watched_training(folder: Path) -> Watch:
    model = tiny_lora()
    optimizer = torch.optim.AdamW(trainable(model), lr=1e-3)
    with ftlab.watch(model, optimizer, run_dir=folder) as watch:
        for batch in batches(STEPS, size=1, length=8):
            optimizer.zero_grad()
            model(**batch).loss.backward()
            optimizer.step()
    return watch


def test_training_goes_on_when_the_disk_is_full(small_disk: Path) -> None:
    with pytest.warns(FtlabWarning, match="No space left") as caught:
        watch = watched_training(small_disk / "run")
    assert sum(each.category is FtlabWarning for each in caught) == 1
    assert len(watch.run.steps) == STEPS, "what is in memory goes on too"
    assert 0 < watch.logged_step < STEPS - 1
    logged = ftlab.open_run(small_disk / "run").run
    assert logged.last_step >= watch.logged_step
