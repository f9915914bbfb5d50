"""What the workers of a loader say of themselves, from within real processes."""

import pickle
import random

import pytest
import torch
from torch.utils.data import DataLoader

from ftlab.probes.seeds.worker_reports import Reporting, reported


def seeded(worker):
    random.seed(50 + worker)


def broken(worker):
    raise RuntimeError(f"worker {worker}")


def test_each_worker_reports_behind_the_users_own_function(tmp_path):
    torch.manual_seed(1)
    loader = DataLoader([1, 2, 3, 4], num_workers=2)
    loader.worker_init_fn = Reporting(seeded, tmp_path)
    assert len(list(loader)) == 4
    first, second = reported(tmp_path)
    assert (first.worker, second.worker) == (0, 1)
    assert second.seed == first.seed + 1
    assert first.rng["rng_python"] != second.rng["rng_python"]
    again = tmp_path / "again"
    again.mkdir()
    loader.worker_init_fn = Reporting(seeded, again)
    list(loader)
    assert [e.rng["rng_python"] for e in reported(again)] == [
        first.rng["rng_python"],
        second.rng["rng_python"],
    ]
    assert reported(again)[0].rng["rng_torch"] != first.rng["rng_torch"]


def test_a_worker_that_cannot_report_goes_on(tmp_path):
    loader = DataLoader([1, 2], num_workers=1)
    loader.worker_init_fn = Reporting(None, tmp_path / "gone")
    assert len(list(loader)) == 2
    assert reported(tmp_path / "gone") == ()


def test_errors_of_the_users_function_are_their_own(tmp_path):
    loader = DataLoader([1, 2], num_workers=1)
    loader.worker_init_fn = Reporting(broken, tmp_path)
    with pytest.raises(RuntimeError, match="worker 0"):
        list(loader)


def test_it_goes_to_spawned_workers(tmp_path):
    copy = pickle.loads(pickle.dumps(Reporting(seeded, tmp_path)))
    assert (copy.inner, copy.folder) == (seeded, tmp_path)
