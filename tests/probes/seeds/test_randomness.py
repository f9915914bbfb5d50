"""What the arithmetic of a process hangs on."""

import random
import time

import numpy as np
import torch

from ftlab.probes.seeds.randomness import randomness_facts


def test_seed_and_settings_are_read(monkeypatch):
    monkeypatch.setenv("PYTHONHASHSEED", "5")
    torch.manual_seed(9)
    known = randomness_facts()
    assert (known["torch_seed"], known["hash_seed"], known["device"]) == (9, "5", "cpu")
    assert known["deterministic"] is False
    torch.use_deterministic_algorithms(True)
    try:
        assert randomness_facts()["deterministic"] is True
    finally:
        torch.use_deterministic_algorithms(False)


def test_seeds_of_all_generators_are_found():
    random.seed(9)
    np.random.seed(10)
    torch.manual_seed(11)
    random.random()
    known = randomness_facts()
    assert [known[f"{name}_seed"] for name in ("python", "numpy", "torch")] == [
        9,
        10,
        11,
    ]
    assert abs(known["clock"] - time.time()) < 60
    assert "cuda_seed" not in known
    random.seed()
    assert randomness_facts()["python_seed"] is None
