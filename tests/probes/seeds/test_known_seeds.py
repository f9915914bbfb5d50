"""Seeds found again in the states of generators, however much was drawn since."""

import random

import numpy as np
import pytest

from ftlab.probes.seeds.known_seeds import (
    TURNS,
    USUAL,
    global_numpy,
    global_python,
    numpy_seed,
    python_seed,
)

NAMED = 3_421_126_067


@pytest.mark.parametrize("drawn", [0, 1, 623, 624, 700])
@pytest.mark.parametrize(("seed", "named"), [(42, ()), (NAMED, (7, NAMED))])
def test_a_seed_is_found_again(seed, named, drawn):
    python, numpy = random.Random(seed), np.random.RandomState(seed)
    for _ in range(drawn):
        python.getrandbits(32)
        numpy.bytes(4)
    assert python_seed(python, named) == seed
    assert numpy_seed(numpy, named) == seed


def test_named_seeds_are_sought_further_than_usual_ones():
    python = random.Random(42)
    python.getrandbits(32 * 624 * (TURNS // 2))
    assert python_seed(python) is None
    assert python_seed(python, [42]) == 42
    python.getrandbits(32 * 624 * TURNS)
    assert python_seed(python, [42]) is None


def test_other_seeds_are_not_known():
    assert NAMED not in USUAL
    assert python_seed(random.Random(NAMED)) is None
    assert python_seed(random.Random()) is None
    assert numpy_seed(np.random.RandomState()) is None


def test_seeds_that_numpy_cannot_have_are_cut():
    numpy = np.random.RandomState(NAMED)
    assert numpy_seed(numpy, [(1 << 32) + NAMED]) == NAMED


def test_everybody_s_generators_are_found():
    random.seed(11)
    np.random.seed(12)
    assert (python_seed(global_python()), numpy_seed(global_numpy())) == (11, 12)
