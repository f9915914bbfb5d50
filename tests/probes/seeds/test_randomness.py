"""What the arithmetic of a process hangs on."""

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
