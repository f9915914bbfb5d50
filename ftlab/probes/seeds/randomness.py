"""What the random numbers and the arithmetic of a process hang on."""

import os
import time
from typing import Any

import torch

from ftlab.probes.plain import readable
from ftlab.probes.seeds.known_seeds import (
    global_numpy,
    global_python,
    numpy_seed,
    python_seed,
)
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
        cuda_seed=_cuda_seed,
        python_seed=lambda: python_seed(global_python(), [torch.initial_seed()]),
        numpy_seed=lambda: numpy_seed(global_numpy(), [torch.initial_seed()]),
        clock=lambda: int(time.time()),
        rng=rng_digests,
        hash_seed=lambda: os.environ.get("PYTHONHASHSEED", ""),
        deterministic=torch.are_deterministic_algorithms_enabled,
        cudnn_deterministic=lambda: bool(backends.cudnn.deterministic),
        cudnn_benchmark=lambda: bool(backends.cudnn.benchmark),
        tf32=lambda: bool(backends.cuda.matmul.allow_tf32),
        threads=torch.get_num_threads,
        device=_device,
    )


def _cuda_seed() -> int:
    if not torch.cuda.is_initialized():
        msg = "CUDA has not begun"
        raise LookupError(msg)
    return int(torch.cuda.initial_seed())


def _device() -> str:
    if not torch.cuda.is_initialized():
        return "cpu"
    return torch.cuda.get_device_name()
