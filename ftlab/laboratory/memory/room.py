"""How much memory this process may still take, where a model is."""

import contextlib
import re
from pathlib import Path

import psutil
import torch

CGROUPS = Path("/sys/fs/cgroup")

_FILES = (
    ("memory.max", "memory.current", "memory.stat"),
    (
        "memory/memory.limit_in_bytes",
        "memory/memory.usage_in_bytes",
        "memory/memory.stat",
    ),
)
"""Limit, usage and its parts, in version 2 and in version 1 of control groups."""

_CACHED = re.compile(r"^(?:total_)?inactive_file (\d+)$", re.MULTILINE)
"""What the kernel takes back from a container before it ends a process."""


def room_beside(model: torch.nn.Module) -> float:
    """Return how many more bytes this process may take where a model is.

    On the host that is what is available there, to a container and to the process.
    Freed memory that the process itself keeps is not among them, but on CUDA.

    Examples
    --------
    >>> import torch
    >>> from ftlab.laboratory.memory.room import room_beside
    >>> room_beside(torch.nn.Linear(2, 2)) > 2**20
    True
    """
    device = next((each.device for each in model.parameters()), None)
    if device is not None and device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return float(free + kept)
    free = psutil.virtual_memory().available
    with contextlib.suppress(ImportError):  # Windows has no such limit
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            free = min(free, limit - psutil.Process().memory_info().vms)
    if (container := container_memory()) is not None:
        free = min(free, container[0] - container[1])
    return float(max(free, 0))


def container_memory() -> tuple[int, int] | None:
    """Return what this container may take, and what it has taken; without a limit None.

    What has been taken is told without files that are merely cached.
    """
    for names in _FILES:
        with contextlib.suppress(OSError, ValueError):
            limit, used, parts = ((CGROUPS / each).read_text() for each in names)
            if int(limit) < psutil.virtual_memory().total:
                cached = _CACHED.findall(parts)
                return int(limit), int(used) - int(cached[-1] if cached else 0)
    return None
