"""CUDA's memory over the events of a recording."""

from typing import Any

import numpy as np

from ftlab.records.memory import DeviceMemory
from ftlab.records.printable import harmless
from ftlab.records.sizes import size
from ftlab.views.style import SERIES, count
from ftlab.views.view import Rows, View

SHOWN = 8  # lines of a device, and devices in the figure


class CudaMemoryView(View[list[DeviceMemory]]):
    """What was allocated and reserved on each device, and by which line at the peak."""

    title = "CUDA memory"
    headings = ("device", "line", "bytes", "blocks")

    def _table(self, summary: list[DeviceMemory]) -> Rows:
        return [(each.device, *held) for each in summary for held in each.at_peak]

    def _text(self, summary: list[DeviceMemory]) -> str:
        none = f"{self.title}: nothing recorded"
        return "\n".join("\n  ".join(_told(each)) for each in summary) or none

    def size_of(self, summary: list[DeviceMemory]) -> tuple[float, float]:
        """Give each device room for its words."""
        return 9.6, 4.6 * (len(summary[:SHOWN]) or 1)

    def draw_on(self, figure: Any, summary: list[DeviceMemory]) -> None:
        """Draw what is allocated and reserved over the events, below what is told."""
        axes = figure.subplots(len(summary[:SHOWN]) or 1, squeeze=False)[:, 0]
        for axis, each in zip(axes, summary, strict=False):
            said = harmless(self._text([each]))
            axis.set_title(said, fontsize=8, loc="left", parse_math=False)
            for name, hue in zip(("reserved", "allocated"), SERIES, strict=False):
                values = getattr(each, name) / 2**20
                drawn = np.unique(np.linspace(0, len(values) - 1, 2000).astype(int))
                most = np.maximum.reduceat(values, drawn)
                axis.step(drawn, most, where="post", c=hue, label=name)
            at, out = each.allocated.argmax(), [event for event, *_ in each.failed]
            axis.plot([at], [values[at]], "kv", label="peak")
            axis.plot(out, values[out], "rX", label="out of memory" * bool(out))
            axis.legend(fontsize=7)
            axis.set(xlabel="event", ylabel="MiB")


def _told(each: DeviceMemory) -> list[str]:
    at, last = int(each.allocated.argmax()), len(each.allocated) - 1
    peak = (
        f"{size(each.allocated[at])} of {size(each.reserved[at])} reserved at the peak"
    )
    lines = [f"CUDA memory: {peak} on device {each.device}, event {at:,} of {last:,}"]
    lines += [f"{size(b)} {line} ({count(n, 'block')})" for line, b, n in each.at_peak]
    lines[1 + SHOWN :] = ["and more lines, in .table()"] * (len(each.at_peak) > SHOWN)
    for at, asked, left in each.failed[:SHOWN]:
        said = f"{size(asked)} asked for, {size(left)} free on the device"
        lines.append(f"out of memory at event {at:,}: {said}")
    free = (
        f"{size(sum(each.free))} free, in blocks of {size(max(each.free, default=0))}"
    )
    end = f"at the end {size(each.reserved[-1])} reserved, {free} or less"
    return [*lines, f"{end}: what is larger does not fit (fragmentation)"]
