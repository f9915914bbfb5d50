"""What watching costs, and how often each probe could measure for it."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.records.budget import FIRST_LOOK, SHORTEST
from ftlab.views.drawn import Canvas
from ftlab.views.style import SERIES, count
from ftlab.views.view import Rows, RunView


@dataclass(frozen=True, slots=True)
class Measured:
    """How often one probe has measured.

    Attributes
    ----------
    steps
        In how many steps.
    planned
        Steps from one measurement to the next if time does not matter.
    ms
        Milliseconds of the training thread that one takes.
    """

    probe: str
    steps: int
    planned: int
    ms: float


@dataclass(frozen=True, slots=True, eq=False)
class CostSummary:
    """What all forms of the view show.

    Attributes
    ----------
    steps, ms
        The steps, and what ftlab took of the training thread in each; NaN where that is
        not known.
    share
        Of the time of all steps but the first look's; NaN where it is not known.
    budget
        The share that was asked for, or ``None``.
    probes
        Those that measure at a distance, the costliest first.
    """

    steps: NDArray[np.int64]
    ms: NDArray[np.float64]
    share: float
    budget: float | None
    probes: tuple[Measured, ...]

    @property
    def first(self) -> float:
        """Milliseconds of the first look."""
        return float(np.nansum(self.ms[_looks(len(self.ms))]))

    @property
    def usual(self) -> float:
        """Mean milliseconds of a step after it."""
        rest = self.ms[~_looks(len(self.ms))]
        return float(np.nanmean(rest)) if np.isfinite(rest).any() else float("nan")


class CostView(RunView[CostSummary]):
    """What watching takes of each step, and how often it could measure.

    Examples
    --------
    >>> from ftlab.runlog.run import Run
    >>> from ftlab.views.steps.cost import CostView
    >>> CostView(Run())
    Cost of watching: nothing recorded yet
    """

    title = "Cost of watching"
    headings = ("probe", "measured steps", "of steps", "planned interval", "ms each")

    def _stamp(self) -> Hashable:
        return self._run.version, str(self._run.meta.get("measured"))

    def _summarise(self) -> CostSummary:
        table, meta = self._run.steps, self._run.meta
        config = meta.get("config")
        asked = config.get("budget") if isinstance(config, Mapping) else None
        return CostSummary(
            table.step,
            1e3 * table["ftlab_seconds"],
            _share(table["ftlab_seconds"], table["time"]),
            asked if isinstance(asked, float) else None,
            tuple(sorted(_measured(meta.get("measured")), key=lambda m: -m.ms)),
        )

    def _table(self, summary: CostSummary) -> Rows:
        total = len(summary.steps)
        return [(m.probe, m.steps, total, m.planned, m.ms) for m in summary.probes]

    def draw_on(self, figure: Canvas, summary: CostSummary) -> None:
        """Draw what each step has cost."""
        figure.suptitle(_headline(summary), x=0.01, ha="left", fontsize=9)
        axes = figure.subplots()
        axes.plot(summary.steps, summary.ms, ".", color=SERIES[0], markersize=3)
        if len(summary.steps) > 1:
            axes.set_yscale("log")
        axes.set_xlabel("step")
        axes.set_ylabel("ms taken by ftlab")

    def _text(self, summary: CostSummary) -> str:
        total = count(len(summary.steps), "step")
        lines = [
            f"  {m.probe}: measured in {m.steps} of {total}, {m.ms:.3g} ms each"
            for m in summary.probes
        ]
        return "\n".join([_headline(summary), *lines])


def _headline(summary: CostSummary) -> str:
    if not np.isfinite(summary.ms).any():
        return "Cost of watching: nothing recorded yet"
    looks = int(_looks(len(summary.ms)).sum())
    first = (
        f"{summary.first:.3g} ms for the first measurements, in {count(looks, 'step')}"
    )
    if not np.isfinite(summary.usual):
        return f"Cost of watching: {first}"
    share = f", {summary.share:.1%} of the time" if np.isfinite(summary.share) else ""
    asked = ""
    if summary.budget is not None:
        least = 1e3 * SHORTEST * summary.budget
        asked = f", with a budget of {summary.budget:.2g} of it or {least:.3g} ms"
    return f"Cost of watching: {summary.usual:.3g} ms per step{share}{asked}; {first}"


def _share(seconds: NDArray[np.float64], time: NDArray[np.float64]) -> float:
    lengths, looks = np.diff(time, prepend=np.nan), _looks(len(time))
    rest = ~looks & np.isfinite(lengths)
    whole = lengths[rest].sum()
    return float(np.nansum(seconds[rest]) / whole) if whole > 0 else float("nan")


def _looks(count: int) -> NDArray[np.bool_]:
    """Mark the steps of the first look."""
    return np.isin(np.arange(count), FIRST_LOOK)


def _measured(found: Any) -> list[Measured]:
    """Read what the log says; another program may have written it."""
    probes = found if isinstance(found, Mapping) else {}
    return [
        Measured(str(name), int(each["steps"]), int(each["planned"]), float(each["ms"]))
        for name, each in probes.items()
        if isinstance(each, Mapping)
        and all(
            isinstance(each.get(k), int | float) for k in ("steps", "planned", "ms")
        )
    ]
