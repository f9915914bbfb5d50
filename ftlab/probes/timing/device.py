"""What the phases of a step take on the GPU, by events that nobody waits for."""

import itertools
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import torch

from ftlab.records.step import Column

TIMED = ("forward", "backward", "optimizer")


class DeviceTimes:
    """Events of one step on the current stream; nothing where CUDA is not in use."""

    columns: ClassVar[tuple[Column, ...]] = tuple(
        Column(f"device_{each}", "s", f"Of a step on the GPU: {each}.")
        for each in TIMED
    )

    def __init__(self) -> None:
        self._marks: list[tuple[str, Any]] = []

    def mark(self, phase: str, inputs: Mapping[str, Any] | None = None) -> None:
        """Put an event into the stream: a phase begins on the device."""
        if not torch.cuda.is_initialized():
            return
        if torch.cuda.is_current_stream_capturing():
            return
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        self._marks.append((phase, event))

    def take(self) -> Callable[[Any], list[dict[str, float]]] | None:
        """Return what reads the step's events once they have passed."""
        marks, self._marks = self._marks, []
        if not marks:
            return None
        return lambda _: [_seconds(marks)]


def _seconds(marks: list[tuple[str, Any]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for (phase, begun), (_, ended) in itertools.pairwise(marks):
        if phase in TIMED and begun.query() and ended.query():
            name = f"device_{phase}"
            found[name] = found.get(name, 0.0) + begun.elapsed_time(ended) / 1e3
    return found
