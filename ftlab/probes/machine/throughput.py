"""How long a step took, from the end of the step before to its own end."""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from io import FileIO
from pathlib import Path
from typing import Any, ClassVar

from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.subject import Subject
from ftlab.records.handle import CallbackHandle, Handle
from ftlab.records.step import Column

QUEUE = Path("/proc/thread-self/schedstat")
"""Of Linux: nanoseconds that the thread ran, and that it waited for a processor."""

RECENT = 64
"""How many steps a GPU's values may arrive late and still find their step's time."""


class Throughput(Probe):
    """Take each step's time on the host.

    The time runs from end to end, loading data included: on a GPU, where the host runs
    ahead, that alone is right on the average. The first step's time begins with its
    first forward.
    """

    columns: ClassVar[Sequence[Column]] = (
        Column("seconds", "s", "Wall time since the end of the step before."),
        Column("cpu_wait", "s", "Of it, the wait for a processor that others had."),
    )

    def __init__(
        self, clock: Callable[[], float] = time.perf_counter, queue: Path = QUEUE
    ) -> None:
        self._clock, self._queue = clock, queue
        self._file: FileIO | None = None
        self._over = False
        self._waited = float("nan")
        self._began: float | None = None
        self._recent: dict[int, float] = {}

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Start the clock at the first batch."""
        if self._began is None:
            self._began = self._clock()
        return ()

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Close the file at the end."""
        self._over = False
        return [CallbackHandle(self._close)]

    def _close(self) -> None:
        file, self._file, self._over = self._file, None, True
        if file is not None:
            file.close()

    def _read_wait(self) -> float:
        """Read a file that is kept open: opening it takes ten times as long."""
        try:
            if self._over:  # the last step ends after the file is closed
                return int(self._queue.read_bytes().split()[1]) / 1e9
            if self._file is None:
                self._file = self._queue.open("rb", buffering=0)
            return int(os.pread(self._file.fileno(), 128, 0).split()[1]) / 1e9
        except (OSError, ValueError, IndexError):
            return float("nan")

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Take the time, and how much of it was waiting."""
        now, before, self._waited = self._clock(), self._waited, self._read_wait()
        began, self._began = self._began, now
        if began is None:
            return {}
        self._recent[moment.step] = now - began
        if len(self._recent) > RECENT:
            del self._recent[next(iter(self._recent))]
        known = before == before
        waited = {"cpu_wait": max(self._waited - before, 0.0)} if known else {}
        return {"seconds": now - began} | waited

    def seconds_of(self, step: int) -> float | None:
        """Give a recent step's time; ``None`` where it is not known."""
        return self._recent.get(step)
