"""A look at a trainer's batches leaves a training that is bit-equal."""

import random

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from ftlab.probes.tokens.untouched import first_batches
from ftlab.records.errors import BadValueError
from tests.probes.tokens.trainings import TRAINERS, OwnCollator, plain, tokenised


def trained(trainer):
    trainer.train()
    losses = [each["loss"] for each in trainer.state.log_history if "loss" in each]
    return losses, [p.detach().clone() for p in trainer.model.parameters()]


def states():
    return random.getstate(), str(np.random.get_state()), torch.get_rng_state().tolist()


@pytest.mark.parametrize("kind", TRAINERS)
def test_the_training_that_follows_is_bit_equal(kind):
    losses, weights = trained(TRAINERS[kind]())
    looked = TRAINERS[kind]()
    before = states()
    batches = first_batches(looked, 3)
    assert states() == before
    assert len(batches) == 3
    assert len(batches[0]["input_ids"])
    again, others = trained(looked)
    assert again == losses
    assert all(torch.equal(a, b) for a, b in zip(weights, others, strict=True))


@pytest.mark.parametrize("kind", ["hand-written", "packing bfd", "stream"])
def test_it_shows_the_batch_that_training_begins_with(kind):
    trainer = TRAINERS[kind]()
    shown = first_batches(trainer)[0]["input_ids"]
    seen = []
    step = trainer.training_step

    def spy(model, inputs, *rest):
        seen.append(inputs["input_ids"].clone())
        return step(model, inputs, *rest)

    trainer.training_step = spy
    trainer.train()
    assert torch.equal(shown, seen[0])


def test_collator_and_loaders_are_as_before():
    trainer = plain()
    collator, accelerator = trainer.data_collator, trainer.accelerator
    loaders = list(accelerator._dataloaders)
    references = list(accelerator.gradient_state._dataloader_references_ref)
    first = first_batches(trainer, 2)
    assert collator.calls == 0
    assert collator.seen == []
    assert accelerator._dataloaders == loaders
    assert accelerator.gradient_state._dataloader_references_ref == references
    second = first_batches(trainer, 2)
    assert all(
        torch.equal(a["labels"], b["labels"])
        for a, b in zip(first, second, strict=True)
    )


def test_a_loader_of_the_users_own_goes_on_where_it_was():
    trainer = plain()
    generator = torch.Generator().manual_seed(2)
    loader = DataLoader(
        tokenised(),
        batch_size=2,
        shuffle=True,
        generator=generator,
        collate_fn=OwnCollator(),
    )
    trainer.get_train_dataloader = lambda: loader
    before = generator.get_state()
    first_batches(trainer, 2)
    assert torch.equal(generator.get_state(), before)
    assert loader.collate_fn.calls == 0


class Once(torch.utils.data.IterableDataset):
    def __init__(self):
        self.source = iter(tokenised())

    def __iter__(self):
        return self.source


class Closed(torch.utils.data.IterableDataset):
    def __init__(self):
        rows = iter(tokenised())
        self.read = lambda: next(rows)

    def __iter__(self):
        while True:
            yield self.read()


@pytest.mark.parametrize("dataset", [Once, Closed])
def test_rows_that_come_only_once_are_refused_and_not_taken(dataset):
    rows = dataset()
    with pytest.raises(BadValueError, match=r"each row once.*batch=\.\.\."):
        first_batches(plain(rows=rows))
    assert next(iter(rows)) == tokenised()[0]


def test_workers_are_not_started():
    trainer = plain(dataloader_num_workers=2, dataloader_prefetch_factor=2)
    assert len(first_batches(trainer)) == 1
    assert trainer.args.dataloader_num_workers == 2
    assert trainer.args.dataloader_prefetch_factor == 2


def test_several_processes_and_no_dataset_are_refused():
    trainer = plain()
    trainer.accelerator = type("Many", (), {"num_processes": 2})()
    with pytest.raises(BadValueError, match="several processes"):
        first_batches(trainer)
    trainer = plain()
    trainer.train_dataset = None
    with pytest.raises(BadValueError, match="no train_dataset"):
        first_batches(trainer)
    with pytest.raises(BadValueError, match="1 or more, found 0"):
        first_batches(plain(), 0)
