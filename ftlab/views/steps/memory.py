"""The memory view: memory, tokens per second and the share of padding."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ftlab.records.sizes import size
from ftlab.views.charts.lines import LinesView
from ftlab.views.charts.plan import LinesSummary, Panel, Plan, Series
from ftlab.views.style import SERIES, count, number

COLUMNS = (
    "tokens_per_second",
    "rss",
    "cuda_allocated",
    "cuda_reserved",
    "cuda_peak",
)
PHASES = {
    "idle_bytes": "before the forward",
    "forward_bytes": "before the backward",
    "backward_bytes": "before the update",
    "update_bytes": "after the update",
}
LABELS = ("process (RSS)", "CUDA allocated", "CUDA reserved", "CUDA peak")


class MemoryView(LinesView):
    """Memory, throughput and padding over the steps of a run."""

    title = "Memory and throughput"

    def _make_plan(self) -> Plan:
        rows = dict.fromkeys((*COLUMNS, "padding_share", *PHASES), "mean")
        rows["cuda_peak"] = "largest"
        memory = tuple(
            Series(row, label, colour)
            for row, label, colour in zip(COLUMNS[1:], LABELS, SERIES, strict=False)
        )
        phases = tuple(
            Series(row, label, colour)
            for (row, label), colour in zip(PHASES.items(), SERIES, strict=False)
        )
        speed = (Series("tokens_per_second", "", SERIES[2]),)
        padding = (Series("padding_share", "", SERIES[3]),)
        panels = (
            Panel("Memory", memory, unit="GiB"),
            Panel("Allocated, by phase", phases, unit="GiB"),
            Panel("Tokens per second", speed, floor=0.0),
            Panel("Padding", padding, unit="% of tokens", floor=0.0),
        )
        return Plan(rows, panels)

    def _read(self, start: int, stop: int) -> tuple[NDArray[np.int64], ArrayLike]:
        steps = self._run.window(start, stop).steps
        speed, *memory = (steps[name] for name in COLUMNS)
        gib = [values / 2**30 for values in memory]
        share = 100 * _padding(steps)
        phases = [steps[name] / 2**30 for name in PHASES]
        return steps.step, np.stack([speed, *gib, share, *phases], 1)

    def _notes(self) -> tuple[str, ...]:
        steps = self._run.steps

        def last(name: str, write: Callable[[float], str] = size) -> str:
            value = _last(steps, name)
            return "not recorded" if value is None else write(value)

        peak = _last(steps, "cuda_peak")
        memory = last("rss") + (f", CUDA peak {size(peak)}" if peak is not None else "")
        share = _padding(steps)
        known = share[~np.isnan(share)]
        padding = f"{100 * float(known.mean()):.1f} %" if len(known) else "not recorded"
        idle = last("idle_bytes", lambda value: f"{size(value)} before the forward")
        return memory, idle, last("tokens_per_second", number), padding

    def _data(self) -> Mapping[str, Any]:
        steps = self._run.window(0).steps
        names = [*COLUMNS, *PHASES, "tokens", "padding", "seconds"]
        data: dict[str, Any] = {"step": steps.step}
        data |= {name: steps[name] for name in names}
        return data | {"padding_share": _padding(steps)}

    def _text(self, summary: LinesSummary) -> str:
        taken = len(summary.data["step"])
        if not taken:
            return "Memory and throughput: nothing recorded yet"
        # memory and speed are never the same twice, and texts are compared
        return (
            f"Memory and throughput: {count(taken, 'step')}, "
            f"padding {summary.notes[3]}; memory and speed in .table()"
        )


def _padding(steps: Any) -> Any:
    tokens, padding = steps["tokens"], steps["padding"]
    with np.errstate(invalid="ignore", divide="ignore"):
        return padding / (tokens + padding)


def _last(steps: Any, name: str) -> float | None:
    known = steps.known(name)
    return float(steps[name][known][-1]) if known.any() else None
