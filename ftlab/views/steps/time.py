"""The time view: where the seconds of each step go."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ftlab.records.step_time import PHASES, column_of
from ftlab.views.charts.lines import LinesView
from ftlab.views.charts.plan import LinesSummary, Panel, Plan, Series
from ftlab.views.style import SERIES, count

MODEL = ("forward", "backward", "optimizer")
"""Phases in which the device works; the others are what it waits for."""

BESIDE = tuple(each for each in PHASES if each not in MODEL)


class TimeView(LinesView):
    """Milliseconds of each step by phase: the model's own, and what stands beside."""

    title = "Time of steps"

    def _make_plan(self) -> Plan:
        rows = dict.fromkeys(map(column_of, PHASES), "mean")
        panels = (
            _panel("Forward, backward, update", MODEL),
            _panel("Beside the model", BESIDE),
        )
        return Plan(rows, panels)

    def _read(self, start: int, stop: int) -> tuple[NDArray[np.int64], ArrayLike]:
        steps = self._run.window(start, stop).steps
        return steps.step, np.stack([1e3 * steps[column_of(e)] for e in PHASES], 1)

    def _notes(self) -> tuple[str, ...]:
        shares = shares_of(self._run)
        if not shares:
            return ("not recorded",) * 2
        beside = [e for e in BESIDE if shares[e] >= 0.005]
        return (
            *(", ".join(f"{e} {shares[e]:.0%}" for e in es) for es in (MODEL, beside)),
            "Shares are of the latest steps without ftlab's time; "
            "that of ftlab is of all time (watch.cost says more).",
        )

    def _data(self) -> Mapping[str, Any]:
        steps = self._run.window(0).steps
        names = [*map(column_of, PHASES), "seconds"]
        return {"step": steps.step, **{name: steps[name] for name in names}}

    def _text(self, summary: LinesSummary) -> str:
        taken = len(summary.data["step"])
        if not taken:
            return "Time of steps: nothing recorded yet"
        # times are never the same twice, and texts are compared
        return f"Time of steps: {count(taken, 'step')}; seconds by phase in .table()"


def seconds_of(run: Any, phase: str, latest: int = 50) -> NDArray[np.float64]:
    """Return the seconds of a phase in the latest steps."""
    first = 4 if len(run.steps) >= 12 else 0  # as rules: these load and fill caches
    found: NDArray[np.float64] = run.steps[column_of(phase)][first:][-latest:]
    return found


def shares_of(run: Any, latest: int = 50) -> dict[str, float]:
    """Return the part of the latest steps that each phase took, ftlab's of all."""
    columns = run.steps.columns
    if any(column_of(each) not in columns for each in PHASES):
        return {}
    sums = {e: float(np.nansum(seconds_of(run, e, latest))) for e in PHASES}
    whole = sum(sums.values())
    own = whole - sums["ftlab"]
    return {e: s / (whole if e == "ftlab" else own) for e, s in sums.items() if own > 0}


def _panel(title: str, phases: Sequence[str]) -> Panel:
    series = tuple(
        Series(column_of(phase), phase, colour)
        for phase, colour in zip(phases, SERIES, strict=False)
    )
    return Panel(title, series, unit="ms", floor=0.0)
