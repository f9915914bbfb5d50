"""With which seeds loaders begin: heard in trainings that go on as they would."""

import json

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import ftlab
from ftlab.faults.builders.tiny import llama
from ftlab.probes.seeds.loader_starts import LoaderStarts, _Open
from ftlab.records.loader_start import LoaderStart
from ftlab.runlog.parting_cause import loader_starts
from ftlab.runlog.run import Run
from tests.probes.seeds.trainings import Augmented, seed_all, train
from tests.session.scenarios import trainer


def test_each_epoch_is_told_with_its_workers():
    first, second = loader_starts(train(epochs=2, num_workers=2, more=0))
    assert (first.step, second.step) == (0, 8)
    assert [each.worker for each in first.started] == [0, 1]
    seeds = [each.seed for start in (first, second) for each in start.started]
    assert len(set(seeds)) == 4
    states = [each.rng["rng_python"] for each in first.started]
    assert [each.rng["rng_python"] for each in second.started] == states


def test_workers_tell_at_their_end_what_they_have_drawn_from():
    starts = loader_starts(train(epochs=2, num_workers=2))
    drawn = [each.drawn for start in starts for each in start.started]
    assert drawn == [("rng_python",)] * 4


def test_workers_of_an_epoch_that_is_broken_off_tell_it_too():
    model = llama(vocab_size=64)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    loader = DataLoader(Augmented(), batch_size=2, num_workers=2)
    with ftlab.watch(model, optimizer) as watch:
        for batch in loader:
            model(**batch).loss.backward()
            optimizer.step()
            break
    (start,) = loader_starts(watch.run)
    assert [each.drawn for each in start.started] == [("rng_python",)] * 2


class Held(Augmented):
    def __init__(self):
        self.rng, self.idle = np.random.default_rng(3), np.random.default_rng(4)

    def __getitem__(self, index):
        ids = torch.arange(8) + 3 * index + 1
        ids[int(self.rng.integers(8))] = 0
        return {"input_ids": ids, "labels": ids.clone()}


@pytest.mark.parametrize("workers", [0, 2])
def test_generators_of_the_dataset_are_followed(workers):
    (start,) = loader_starts(train(rows=Held(), num_workers=workers))
    assert [(e.name, e.seed) for e in start.held] == [("Held.rng", 3), ("Held.idle", 4)]
    assert start.draws_from("Held.rng") is True
    assert start.draws_from("Held.idle") is False
    states = [each.held["Held.rng"] for each in start.started]
    assert states == [start.held[0].state] * workers


def test_a_micro_batch_within_a_step_may_begin_an_epoch():
    starts = loader_starts(train(epochs=2, accumulation=3))
    assert [(each.step, each.micro_batch) for each in starts] == [(0, 0), (2, 2)]


def test_loaders_of_other_datasets_are_none_of_the_training():
    other = DataLoader([1, 2, 3], shuffle=True)
    run = train(before=lambda _: list(other))
    assert [each.dataset for each in loader_starts(run)] == ["Augmented"]


def test_the_loader_is_as_it_was_and_gives_what_it_would_have_given():
    settings = {"batch_size": 2, "shuffle": True, "num_workers": 2}

    def rows(watched):
        model = llama(vocab_size=64)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        seed_all()
        loader = DataLoader(Augmented(), **settings)
        if not watched:
            return [batch["input_ids"] for batch in loader], loader
        with ftlab.watch(model, optimizer):
            return [batch["input_ids"] for batch in loader], loader

    (bare, _), (watched, loader) = rows(False), rows(True)
    assert torch.equal(torch.stack(bare), torch.stack(watched))
    assert loader.worker_init_fn is None
    assert DataLoader.__iter__.__module__ == "torch.utils.data.dataloader"
    assert "ftlab" not in DataLoader.__iter__.__code__.co_filename


def test_persistent_workers_report_once():
    run = train(epochs=2, num_workers=1, persistent_workers=True)
    first, second = loader_starts(run)
    (worker,) = first.started
    assert worker.drawn is None  # it goes on as long as its loader
    assert second.started == ()


def test_a_trainer_s_loader_is_heard():
    made = trainer()
    watch = ftlab.watch(made)
    made.train()
    start, *_ = loader_starts(watch.run)
    assert start.step == 0
    assert start.order == "random"
    assert watch.run.facts.training["args"]["seed"] == made.args.seed
    watch.detach()


def test_a_loader_that_cannot_be_read_trains_all_the_same(monkeypatch):
    def broken(loader):
        raise AttributeError("dataset")

    monkeypatch.setattr("ftlab.probes.seeds.loader_hearing.loader_start", broken)
    run = train()
    assert loader_starts(run) == []
    assert len(run.steps) == 8


def test_a_look_before_all_workers_have_told_is_made_good(tmp_path):
    probe = LoaderStarts()
    start = LoaderStart(0, workers=2)
    probe._open.append(_Open(start, tmp_path, list, list))
    (early,) = probe.on_unfinished(0)
    assert early.detail["started"] == ()
    assert list(probe.on_unfinished(0)) == []
    for worker in range(2):
        told = json.dumps({"worker": worker, "seed": worker, "rng": {}})
        (tmp_path / f"worker-{worker}.json").write_text(told)
    (late,) = probe._tell(None)
    run = Run()
    run.append(early)
    run.append(late)
    (known,) = loader_starts(run)
    assert [each.worker for each in known.started] == [0, 1]
