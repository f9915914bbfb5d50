"""Whether another start would see the same data: real runs, and runs by hand."""

import numpy as np
import pytest
import torch

from ftlab.records.event import Event
from ftlab.records.facts import Facts
from ftlab.records.loader_start import SYSTEM, HeldGenerator, LoaderStart, WorkerStart
from ftlab.records.step import StepRecord
from ftlab.runlog.run import Run
from ftlab.runlog.same_data import same_data
from tests.probes.seeds.trainings import Augmented, train

SEEDED = {"torch_seed": 7, "python_seed": 7, "numpy_seed": 7}
DRAWN = {"torch_seed": 1 << 60, "python_seed": None, "numpy_seed": None}
CLOCK = {"torch_seed": 1_700_000_000, "clock": 1_700_000_005}


def run_of(start, known=SEEDED, drawn=""):
    run = Run()
    run.append(Facts(training={"randomness": known}))
    run.append(Event("loader", 0, 0.0, "", start.as_json()))
    for step in range(3):
        values = {drawn: float(step)} if drawn else {}
        run.append(StepRecord(step, 0.0, loss=1.0, values=values))
    return run


def random(**fields):
    return LoaderStart(0, order="random", dataset="Rows", sampler="Random", **fields)


def held(seed, **fields):
    one = HeldGenerator("Rows.rng", "NumPy", seed)
    return LoaderStart(0, order="in order", dataset="Rows", held=(one,), **fields)


def worker(drawn=("rng_python",), **reseeded):
    started = (WorkerStart(0, 1 << 50, {}, reseeded, drawn=drawn),)
    return LoaderStart(0, order="in order", workers=1, started=started)


@pytest.mark.parametrize(
    "run",
    [
        run_of(LoaderStart(0, order="in order"), DRAWN),
        run_of(random()),
        run_of(random(seed=4), DRAWN),
        run_of(held(3), DRAWN),
        run_of(held(1 << 100, drawn=()), DRAWN),
        run_of(worker()),
        run_of(worker(drawn=()), DRAWN),
        run_of(worker(rng_python=5), DRAWN),
        run_of(worker(rng_python=(1 << 50) % (1 << 32) + 1)),
        run_of(random(), drawn="rng_python"),
        run_of(random(), drawn="rng_torch"),
    ],
)
def test_yes(run):
    assert same_data(run).same is True
    assert str(same_data(run)).startswith("yes")


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (run_of(random(), DRAWN), "from torch's generator, which was not seeded"),
        (run_of(held(1 << 100, drawn=("Rows.rng",))), "with Rows.rng, which was not"),
        (run_of(worker(), DRAWN), "worker 0 draws from Python's random, which is"),
        (
            run_of(LoaderStart(0, order="random", dataset="Rows", seed=1 << 100)),
            "Rows was shuffled without a seed",
        ),
    ],
)
def test_no(run, why):
    found = same_data(run)
    assert found.same is False
    assert why in str(found)
    assert str(found).startswith("no, because")


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (Run(), "no DataLoader"),
        (run_of(LoaderStart(0, order="stream", dataset="S")), "of the stream S"),
        (run_of(LoaderStart(0, order="own", sampler="Mine")), "that of Mine"),
        (run_of(random(), CLOCK), "which was seeded by the clock"),
        (run_of(random(seed=1 << 40)), "drawn with 1099511627776, which was drawn"),
        (run_of(held(1 << 100)), "rows may be drawn with Rows.rng, which was not"),
        (run_of(held(None, drawn=("Rows.rng",))), "has a seed that is not known"),
        (run_of(worker(drawn=None), DRAWN), "worker 0 has not told"),
        (run_of(worker(rng_python=None)), "seeds with a number nobody knows"),
        (run_of(worker(rng_python=1 << 30)), "seeds with a number nobody knows"),
        (run_of(random(seed=4), DRAWN, "rng_python"), "2 steps draw from Python's"),
        (run_of(random(seed=4), DRAWN, "rng_torch"), "2 steps draw from torch"),
    ],
)
def test_nobody_can_tell(run, why):
    found = same_data(run)
    assert found.same is None
    assert why in str(found)
    assert str(found).startswith("nobody can tell")


class Held(Augmented):
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def __getitem__(self, index):
        ids = torch.arange(8) + 3 * index + 1
        ids[int(self.rng.integers(8))] = 0
        return {"input_ids": ids, "labels": ids.clone()}


@pytest.mark.parametrize(
    ("settings", "same"),
    [
        ({}, True),
        ({"num_workers": 2}, True),
        ({"num_workers": 2, "more": 0}, True),
        ({"rows": Held(3)}, True),
        ({"rows": Held(None)}, False),
        ({"rows": Held(None), "num_workers": 2}, False),
    ],
)
def test_real_trainings(settings, same):
    assert same_data(train(**settings)).same is same


@pytest.mark.parametrize("drawn", [(), None])
def test_a_generator_that_no_seed_sets_leaves_it_open(drawn):
    source = HeldGenerator("SYS", SYSTEM)
    run = run_of(LoaderStart(0, order="in order", held=(source,), drawn=drawn))
    said = "rows may be drawn with SYS, which no seed sets"
    assert (same_data(run).same, same_data(run).why) == (None, said)
