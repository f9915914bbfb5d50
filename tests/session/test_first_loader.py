"""The loader that was begun before its training was seen is known all the same."""

import functools
import os
import tempfile

import torch
from torch.utils.data import DataLoader

from ftlab.faults.builders.tiny import llama
from ftlab.runlog.parting_cause import cause_of, loader_starts
from ftlab.runlog.run_comparison import compare_runs
from ftlab.session.autowatch import Autowatch
from tests.models import update
from tests.probes.seeds.trainings import Augmented, seed_all, seeded


def loop(*, more=0, workers=2, epochs=1, before=()):
    """Train as a script does that does not know of ftlab."""
    seed_all()
    model = llama(vocab_size=64)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    starter = functools.partial(seeded, more=more) if workers else None
    settings = {"num_workers": workers, "worker_init_fn": starter}
    loader = DataLoader(Augmented(), batch_size=2, shuffle=True, **settings)
    others = [iter(DataLoader([torch.tensor(at)])) for at in before]
    losses = []
    for _ in range(epochs):
        for batch in loader:
            loss = model(**batch).loss
            update(loss, optimizer)
            losses.append(loss.item())
    del others
    return losses


def watched(folder, **settings):
    with Autowatch(lambda _: None, run_dir=folder) as auto:
        loop(**settings)
    return auto.watches[0].run


def test_the_first_epoch_is_told_with_its_workers(tmp_path):
    starts = loader_starts(watched(tmp_path / "run", epochs=2))
    assert [(each.step, each.micro_batch) for each in starts] == [(0, 0), (8, 0)]
    assert [len(each.started) for each in starts] == [2, 2]
    assert [each.drawn for each in starts[0].started] == [("rng_python",)] * 2


def test_what_workers_tell_is_not_left_behind(tmp_path, monkeypatch):
    made = []
    original = tempfile.mkdtemp

    def noted(*args, **options):
        made.append(original(*args, **options))
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", noted)
    watched(tmp_path / "run")
    told = [folder for folder in made if "ftlab-workers-" in folder]
    assert told
    assert not any(map(os.path.exists, told))


def test_a_loader_without_workers_is_told_once_for_each_epoch(tmp_path):
    starts = loader_starts(watched(tmp_path / "run", workers=0, epochs=2))
    assert [each.step for each in starts] == [0, 8]


def test_a_loader_that_was_begun_before_the_training_s_is_left_out(tmp_path):
    (start,) = loader_starts(watched(tmp_path / "run", before=range(3)))
    assert start.workers == 2


def test_a_worker_s_seed_is_named_as_the_cause(tmp_path):
    one = watched(tmp_path / "one")
    other = watched(tmp_path / "other", more=1)
    first = compare_runs(one, other).partings[0]
    cause = cause_of(one, other, first)
    assert cause.startswith("worker 1, which made the batch, began with other random")
    assert "its worker_init_fn seeds it with 101, and 102" in cause


def test_the_numbers_do_not_change(tmp_path):
    plain = loop()
    with Autowatch(lambda _: None, run_dir=tmp_path / "run"):
        assert loop() == plain


def test_the_method_is_as_it_was():
    original = DataLoader.__iter__
    with Autowatch(lambda _: None):
        assert DataLoader.__iter__ is not original
    assert DataLoader.__iter__ is original
