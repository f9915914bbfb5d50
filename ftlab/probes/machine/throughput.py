"""How long a step took, from the end of the step before to its own end."""

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from ftlab.probes.probe import Moment, Probe, Reading
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
        self._waited = float("nan")
        self._began: float | None = None
        self._recent: dict[int, float] = {}

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Start the clock at the first batch."""
        if self._began is None:
            self._began = self._clock()
        return ()

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Take the time, and how much of it was waiting."""
        now, before = self._clock(), self._waited
        with contextlib.suppress(OSError, ValueError, IndexError):
            self._waited = int(self._queue.read_bytes().split()[1]) / 1e9
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
