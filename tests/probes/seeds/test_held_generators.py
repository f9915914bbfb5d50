"""Generators of datasets and collators: found where they are, and left alone."""

import functools
import logging
import random

import numpy as np
import pytest
import torch
from datasets import Dataset as Table
from torch.utils.data import Subset

from ftlab.probes.seeds.held_generators import (
    OBJECTS,
    generators_in,
    held_generators,
    held_states,
)
from ftlab.records.loader_start import DEFAULT_SEED, is_chosen

GLOBAL = np.random.default_rng(5)


class Plain:
    pass


class Drawing:
    def __getitem__(self, index):
        return GLOBAL.integers(9)


class Strict:
    def __init__(self):
        self.rng = random.Random(4)

    @property
    def broken(self):
        raise RuntimeError("was asked")


def holding(**held):
    made = Plain()
    vars(made).update(held)
    return made


def enclosing(rng):
    def collate(rows):
        return rng.random(), rows

    return collate


@pytest.mark.parametrize(
    ("owner", "name", "kind", "seed"),
    [
        (holding(rng=np.random.default_rng(7)), "Plain.rng", "NumPy", 7),
        (holding(rng=np.random.RandomState(7)), "Plain.rng", "NumPy", 7),
        (holding(t=[random.Random(7)]), "Plain.t.0", "Python", 7),
        (holding(t={"a": random.Random(7)}), "Plain.t.a", "Python", 7),
        (holding(g=torch.Generator()), "Plain.g", "torch", DEFAULT_SEED),
        (Subset(Strict(), [0]), "Subset.dataset.rng", "Python", 4),
        (Drawing(), "Drawing.GLOBAL", "NumPy", 5),
        (enclosing(random.Random(3)), "enclosing.<locals>.collate.rng", "Python", 3),
        (functools.partial(print, random.Random(3)), "", "", 0),
    ],
)
def test_where_it_is_and_what_it_began_with(owner, name, kind, seed):
    found = [(each.name, each.kind, each.seed) for each in held_generators(owner)]
    assert found == ([(name, kind, seed)] if name else [])


def test_a_stream_s_shuffle_shows_its_seed():
    stream = Table.from_list([{"a": 1}, {"a": 2}]).to_iterable_dataset()
    assert held_generators(stream) == ()
    (seeded,) = held_generators(stream.shuffle(seed=3))
    (drawn,) = held_generators(stream.shuffle().map(dict))
    assert seeded.seed == 3
    assert not is_chosen(drawn.seed)


def test_nothing_is_drawn_and_what_is_drawn_is_seen():
    owner = holding(
        a=random.Random(1),
        b=np.random.default_rng(1),
        c=np.random.RandomState(1),
        d=torch.Generator(),
    )
    before = held_states(owner)
    assert held_states(owner) == before
    for draw in (owner.a.random, owner.b.random, owner.c.rand):
        draw()
    torch.rand(1, generator=owner.d)
    after = held_states(owner)
    assert all(after[name] != before[name] for name in before)
    assert len(before) == 4


def test_everybody_s_generators_are_not_a_dataset_s():
    own = holding(a=torch.default_generator, b=np.random.get_state.__self__)
    assert held_generators(own) == ()


def test_the_search_ends():
    ring = Plain()
    ring.self = ring
    assert list(generators_in(ring)) == []
    wide = holding(**{f"a{n}": Plain() for n in range(2 * OBJECTS)}, z=random.Random())
    assert list(generators_in(wide)) == []


def test_the_generator_of_the_machine_has_no_state():
    owner = holding(rng=random.SystemRandom(), other=random.Random(4))
    told = [(each.name, each.kind, each.seed) for each in held_generators(owner)]
    assert told == [("Plain.rng", "system", None), ("Plain.other", "Python", 4)]
    assert held_states(owner)["Plain.rng"] == 0


def test_loggers_are_not_looked_into():
    class Collator:
        def __init__(self):
            self.logger = logging.Logger("a logger")
            self.logger.rng = random.Random(0)

    assert held_states(Collator()) == {}
