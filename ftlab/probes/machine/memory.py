"""The memory that the process and its GPU hold."""

from collections.abc import Sequence
from typing import ClassVar

import psutil
import torch

from ftlab.probes.probe import Moment, Probe
from ftlab.probes.schedule import every
from ftlab.records.step import Column


class Memory(Probe):
    """Read resident memory and, where CUDA is in use, what its allocator holds.

    The allocator counts on the host: reading does not wait for the device. Its peak is
    the process's own and is never reset, for it may be the user's.
    """

    columns: ClassVar[Sequence[Column]] = (
        Column("rss", "bytes", "Resident memory of the process."),
        Column("cuda_allocated", "bytes", "In tensors, on all GPUs of the process."),
        Column("cuda_reserved", "bytes", "Held by the caching allocator."),
        Column("cuda_peak", "bytes", "Most that was ever in tensors."),
    )

    def __init__(self) -> None:
        self.schedule = every(1)
        self._process = psutil.Process()

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Read the counters."""
        values = {"rss": float(self._process.memory_info().rss)}
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            values |= _cuda()
        return values


def _cuda() -> dict[str, float]:
    """Sum over the devices; one call per device, since each builds all statistics."""
    sums = dict.fromkeys(("cuda_allocated", "cuda_reserved", "cuda_peak"), 0.0)
    for device in range(torch.cuda.device_count()):
        stats = torch.cuda.memory_stats_as_nested_dict(device)
        if not stats:
            continue
        allocated = stats["allocated_bytes"]["all"]
        sums["cuda_allocated"] += allocated["current"]
        sums["cuda_reserved"] += stats["reserved_bytes"]["all"]["current"]
        sums["cuda_peak"] += allocated["peak"]
    return sums
