"""With which seeds loaders begin: heard in trainings that go on as they would."""

import json

import pytest
import torch
from torch.utils.data import (
    DataLoader,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    WeightedRandomSampler,
)

import ftlab
from ftlab.faults.tiny import llama
from ftlab.probes.seeds.loader_starts import LoaderStarts, _Untold, loader_start
from ftlab.records.loader_start import LoaderStart
from ftlab.runlog.parting_cause import loader_starts
from ftlab.runlog.run import Run
from tests.probes.seeds.trainings import Augmented, seed_all, train
from tests.session.scenarios import trainer


class Stream(IterableDataset):
    epoch = 3

    def __iter__(self):
        return iter([1])


@pytest.mark.parametrize(
    ("settings", "order", "seed"),
    [
        ({}, "in order", None),
        ({"shuffle": True}, "random", None),
        ({"shuffle": True, "generator": 7}, "random", 7),
        ({"sampler": "weighted"}, "own", None),
        ({"sampler": "random"}, "random", 5),
        ({"sampler": "distributed"}, "random", 11),
        ({"batch_size": None, "sampler": "random"}, "random", 5),
    ],
)
def test_how_rows_are_drawn(settings, order, seed):
    rows = Augmented()
    generator = torch.Generator().manual_seed(5)
    made = {
        "weighted": lambda: WeightedRandomSampler([1.0] * 16, 16),
        "random": lambda: RandomSampler(rows, generator=generator),
        "distributed": lambda: DistributedSampler(rows, 2, 0, seed=11),
    }
    given = dict(settings)
    if "sampler" in given:
        given["sampler"] = made[given["sampler"]]()
    if "generator" in given:
        given["generator"] = torch.Generator().manual_seed(given["generator"])
    start = loader_start(DataLoader(rows, **given))
    assert (start.order, start.seed, start.dataset) == (order, seed, "Augmented")


def test_streams_and_epochs_are_told():
    start = loader_start(DataLoader(Stream()))
    assert (start.order, start.sampler, start.epoch) == ("stream", "", 3)
    sampler = DistributedSampler(Augmented(), 2, 0)
    sampler.set_epoch(4)
    assert loader_start(DataLoader(Augmented(), sampler=sampler)).epoch == 4


def test_each_epoch_is_told_with_its_workers():
    first, second = loader_starts(train(epochs=2, num_workers=2, more=0))
    assert (first.step, second.step) == (0, 8)
    assert [each.worker for each in first.started] == [0, 1]
    seeds = [each.seed for start in (first, second) for each in start.started]
    assert len(set(seeds)) == 4
    states = [each.rng["rng_python"] for each in first.started]
    assert [each.rng["rng_python"] for each in second.started] == states


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
    assert len(first.started) == 1
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

    monkeypatch.setattr("ftlab.probes.seeds.loader_starts.loader_start", broken)
    run = train()
    assert loader_starts(run) == []
    assert len(run.steps) == 8


def test_a_look_before_all_workers_have_told_is_made_good(tmp_path):
    probe = LoaderStarts()
    start = LoaderStart(0, workers=2)
    probe._untold.append(_Untold(start, tmp_path))
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
