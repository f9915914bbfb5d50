"""What the random numbers and the arithmetic of a process hang on."""

import os
from typing import Any

import torch

from ftlab.probes.plain import readable
from ftlab.probes.seeds.rng_states import rng_digests


def randomness_facts() -> dict[str, Any]:
    """Read seeds, the states of generators, and what makes kernels deterministic.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.seeds.randomness import randomness_facts
    >>> _ = torch.manual_seed(7)
    >>> randomness_facts()["torch_seed"]
    7
    """
    backends = torch.backends
    return readable(
        torch_seed=torch.initial_seed,
        rng=rng_digests,
        hash_seed=lambda: os.environ.get("PYTHONHASHSEED", ""),
        deterministic=torch.are_deterministic_algorithms_enabled,
        cudnn_deterministic=lambda: bool(backends.cudnn.deterministic),
        cudnn_benchmark=lambda: bool(backends.cudnn.benchmark),
        tf32=lambda: bool(backends.cuda.matmul.allow_tf32),
        threads=torch.get_num_threads,
        device=_device,
    )


def _device() -> str:
    if not torch.cuda.is_initialized():
        return "cpu"
    return torch.cuda.get_device_name()
