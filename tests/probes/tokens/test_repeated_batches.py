"""Batches that come once from each worker."""

import gc

import numpy as np
import torch

from ftlab.faults.data.sampling.stream_in_every_worker import Stream
from ftlab.probes.tokens.repeated_batches import (
    STREAKS,
    RepeatedBatches,
    SameTensor,
    stream_of,
)


def added(numbers, same=()):
    repeated = RepeatedBatches()
    return [
        repeated.add(np.array([float(number)]), same=at in same)
        for at, number in enumerate(numbers)
    ]


def test_equal_streaks_are_told_once():
    assert [each for each in added([1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6]) if each] == [2]
    assert [each for each in added([*[1] * 3, *[2] * 3, *[3] * 3, *[4] * 3, 5]) if each]


def test_few_streaks_prove_nothing():
    numbers = np.repeat(np.arange(STREAKS), 2).tolist()
    assert not any(added(numbers))


def test_streaks_of_unlike_lengths_are_chance():
    assert not any(added([1, 1, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7]))
    assert not any(added([1, 1, 2, 2, 2, 3, 3, 4, 4, 5]))


def test_a_batch_that_is_used_twice_is_meant_so():
    assert not any(added([1, 1, 2, 2, 3, 3, 4, 4, 5], same={1}))


def test_one_batch_again_and_again_is_no_streak_that_ends():
    assert not any(added([1] * 40))


def test_the_same_tensor_is_told_from_an_equal_one():
    same = SameTensor()
    one = torch.ones(2)
    assert not same(one)
    assert same(one)
    assert not same(one.clone())
    assert not same(None)


def test_a_loader_that_streams_is_found_by_its_workers():
    gc.collect()
    stream = Stream([1, 2], shared=False)
    loader = torch.utils.data.DataLoader(stream, num_workers=3)
    listed = torch.utils.data.DataLoader([1, 2], num_workers=5)
    assert stream_of(3) == "Stream"
    assert stream_of(5) == ""
    del loader, listed
