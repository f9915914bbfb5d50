"""How long the training thread waited because others had the processor."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from ftlab.probes.probe import Moment, Probe
from ftlab.records.step import Column

QUEUE = Path("/proc/thread-self/schedstat")
"""Of Linux: nanoseconds on a processor, and nanoseconds ready and waiting for one."""


class CpuWait(Probe):
    """Read what the scheduler says of the thread; nothing where it says nothing."""

    name: ClassVar[str] = "cpu_wait"
    columns: ClassVar[Sequence[Column]] = (
        Column("cpu_wait", "s", "Time that the thread waited for a processor."),
    )

    def __init__(self, queue: Path = QUEUE) -> None:
        self._queue = queue
        self._before = float("nan")

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Take the difference to the step before."""
        before, self._before = self._before, float("nan")
        with contextlib.suppress(OSError, ValueError, IndexError):
            self._before = int(self._queue.read_bytes().split()[1]) / 1e9
        waited = self._before - before
        return {} if waited != waited else {"cpu_wait": max(waited, 0.0)}
