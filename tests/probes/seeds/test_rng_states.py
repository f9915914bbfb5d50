"""Generators in numbers: they change when something is drawn, and nothing is drawn."""

import random
import sys
import zlib

import numpy as np
import pytest
import torch

from ftlab.probes.seeds.rng_states import RngStates, rng_digests
from tests.probes.moments_of import Bench


def seed_all():
    random.seed(3)
    np.random.seed(3)
    torch.manual_seed(3)


@pytest.mark.parametrize(
    ("name", "draw"),
    [
        ("rng_python", random.random),
        ("rng_numpy", np.random.rand),
        ("rng_torch", lambda: torch.rand(1)),
    ],
)
def test_the_generator_that_was_drawn_from_stands_elsewhere(name, draw):
    seed_all()
    before = rng_digests()
    draw()
    after = rng_digests()
    assert [each for each in before if before[each] != after[each]] == [name]
    seed_all()
    assert rng_digests() == before


def test_nothing_is_drawn():
    seed_all()
    rng_digests()
    drawn = random.random(), np.random.rand(), torch.rand(1)
    seed_all()
    assert drawn == (random.random(), np.random.rand(), torch.rand(1))


def test_each_step_has_them():
    probe = RngStates()
    assert probe.on_close(Bench(torch.nn.ReLU()).moment(0)) == rng_digests()
    names = [each.name for each in probe.columns]
    assert set(rng_digests()) <= set(names)


def test_a_twister_is_read_as_numpy_tells_its_state():
    np.random.seed(3)
    for _ in range(3):
        _, words, place, *_ = np.random.get_state(legacy=True)
        whole = words.tobytes() + int(place).to_bytes(4, sys.byteorder)
        assert rng_digests()["rng_numpy"] == zlib.crc32(whole) & 0xFFFFFF
        np.random.rand(5)
