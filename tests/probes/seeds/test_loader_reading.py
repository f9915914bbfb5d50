"""How rows are going to be drawn: read of loaders of all kinds."""

import pytest
import torch
from datasets import Dataset as Table
from torch.utils.data import (
    DataLoader,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Sampler,
    WeightedRandomSampler,
)

from ftlab.probes.seeds.loader_reading import loader_start
from ftlab.records.loader_start import is_chosen
from tests.probes.seeds.trainings import Augmented


class Stream(IterableDataset):
    epoch = 3

    def __iter__(self):
        return iter([1])


class Backwards(Sampler):
    def __iter__(self):
        return iter(range(15, -1, -1))


def grouped():
    from transformers.trainer_pt_utils import LengthGroupedSampler

    return LengthGroupedSampler(4, lengths=[3] * 16)


@pytest.mark.parametrize(
    ("settings", "order", "seed"),
    [
        ({}, "in order", None),
        ({"shuffle": True}, "random", None),
        ({"shuffle": True, "generator": 7}, "random", 7),
        ({"sampler": "weighted"}, "random", None),
        ({"sampler": "random"}, "random", 5),
        ({"sampler": "distributed"}, "random", 11),
        ({"sampler": "own"}, "own", None),
        ({"sampler": "grouped"}, "random", None),
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
        "own": Backwards,
        "grouped": grouped,
    }
    given = dict(settings)
    if "sampler" in given:
        given["sampler"] = made[given["sampler"]]()
    if "generator" in given:
        given["generator"] = torch.Generator().manual_seed(given["generator"])
    start = loader_start(DataLoader(rows, **given))
    assert (start.order, start.seed, start.dataset) == (order, seed, "Augmented")
    assert start.workers_seed == (7 if "generator" in settings else None)


def test_streams_and_epochs_are_told():
    start = loader_start(DataLoader(Stream()))
    assert (start.order, start.sampler, start.epoch) == ("stream", "", 3)
    sampler = DistributedSampler(Augmented(), 2, 0)
    sampler.set_epoch(4)
    assert loader_start(DataLoader(Augmented(), sampler=sampler)).epoch == 4


def test_streams_of_tables_show_their_shuffles():
    stream = Table.from_list([{"a": 1}, {"a": 2}]).to_iterable_dataset()
    stream.set_epoch(2)
    plain = loader_start(DataLoader(stream))
    assert (plain.order, plain.seed, plain.epoch) == ("in order", None, 2)
    seeded = loader_start(DataLoader(stream.shuffle(seed=3)))
    assert (seeded.order, seeded.seed) == ("random", 3)
    drawn = loader_start(DataLoader(stream.shuffle()))
    assert drawn.order == "random"
    assert not is_chosen(drawn.seed)


def test_a_table_s_shuffle_changes_its_fingerprint():
    table = Table.from_list([{"a": n} for n in range(8)])
    one, same, other = (
        loader_start(DataLoader(table.shuffle(seed=seed))).contents
        for seed in (1, 1, 2)
    )
    assert one == same != other
    assert loader_start(DataLoader([1])).contents == ""


def test_batches_that_are_left_out_are_counted():
    from accelerate import skip_first_batches

    rows = DataLoader(Augmented(), batch_size=2)
    start = loader_start(skip_first_batches(rows, 3))
    assert (start.skipped, start.order) == (3, "in order")
    assert loader_start(rows).skipped == 0
