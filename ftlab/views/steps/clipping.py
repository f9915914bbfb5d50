"""The view of clipping: the gradient's norm, its limit, and what was cut off."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ftlab.runlog.steps import StepTable
from ftlab.views.charts.lines import LinesView
from ftlab.views.charts.plan import LinesSummary, Panel, Plan, Series
from ftlab.views.style import SERIES, SPECIAL, count, number

BLUE, ORANGE, GREEN = SERIES[:3]


class ClippingView(LinesView):
    """The gradient's norm before and after clipping, and in which steps it was cut.

    The coefficient is the factor that clipping applied: 1 leaves a gradient as it is.
    Clipping to a value has none; nor has a step in which parts were clipped one by one.

    Examples
    --------
    >>> from ftlab.records.step import StepRecord
    >>> from ftlab.runlog.run import Run
    >>> from ftlab.views.steps.clipping import ClippingView
    >>> run = Run()
    >>> for step, norm in enumerate([0.5, 4.0]):
    ...     factor = min(1.0, 1.0 / norm)
    ...     run.append(StepRecord(step, 0.0, None, (), norm, 1.0, factor))
    >>> ClippingView(run)
    Clipping: 2 steps
    last norm 4, limit 1, clipped to 1
    active in 1 of 2 steps (50 %), smallest factor 0.25 at step 1
    """

    title = "Clipping"

    def headline(self) -> str:
        """Return in how many steps clipping was active, in one line."""
        steps = self._run.steps
        if not _applies(steps):
            return ""
        return f"{_active(steps)}; {_last(steps)}"

    def _make_plan(self) -> Plan:
        rows = {
            "norm": "largest",
            "limit": "latest",
            "clipped": "largest",
            "non_finite": "largest",
            "factor_low": "smallest",
            "factor_high": "largest",
            "factor": "mean",
        }
        norm = (
            Series("limit", "limit", ORANGE),
            Series("norm", "before clipping", GREEN),
            Series("clipped", "after", BLUE),
            Series("non_finite", "NaN or Inf", SPECIAL["non-finite"], "mark"),
        )
        factor = (
            Series("factor_low", "", BLUE, "low"),
            Series("factor_high", "", BLUE, "high"),
            Series("factor", "", BLUE),
        )
        panels = (
            Panel("Gradient norm", norm, log=True),
            Panel("Factor applied", factor, floor=0.0),
        )
        return Plan(rows, panels)

    def _read(self, start: int, stop: int) -> tuple[NDArray[np.int64], ArrayLike]:
        steps = self._run.window(start, stop).steps
        norm, factor = steps["grad_norm"], steps["clip_coefficient"]
        bad = steps.known("grad_norm") & ~np.isfinite(norm)
        clipped = _clipped(steps)
        columns = [
            np.where(np.isfinite(norm), norm, np.nan),
            steps["clip_norm"],
            np.where(np.isfinite(clipped), clipped, np.nan),
            bad,
            factor,
            factor,
            factor,
        ]
        return steps.step, np.stack(columns, 1)

    def _notes(self) -> tuple[str, ...]:
        steps = self._run.steps
        if not _applies(steps):
            return "not recorded", "not recorded"
        return _last(steps), _share(steps)

    def _data(self) -> Mapping[str, Any]:
        steps = self._run.window(0).steps
        norm, factor = steps["grad_norm"], steps["clip_coefficient"]
        return {
            "step": steps.step,
            "norm": norm,
            "limit": steps["clip_norm"],
            "factor": factor,
            "clipped_norm": _clipped(steps),
            "active": factor < 1,
        }

    def _text(self, summary: LinesSummary) -> str:
        taken = len(summary.data["step"])
        if not taken or summary.notes[0] == "not recorded":
            return "Clipping: nothing recorded yet"
        return "\n".join([f"Clipping: {count(taken, 'step')}", *summary.notes])


def _applies(steps: StepTable) -> bool:
    if "clips" in steps and (steps["clips"] > 0).any():
        return True
    return bool(steps.known("clip_norm").any() or steps.known("clip_coefficient").any())


def _clipped(steps: StepTable) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):  # an infinite norm is clipped by a factor of 0
        return np.asarray(steps["grad_norm"] * steps["clip_coefficient"])


def _last(steps: StepTable) -> str:
    norm, factor = steps["grad_norm"], steps["clip_coefficient"]
    known = np.flatnonzero(steps.known("grad_norm"))
    if not len(known):
        return "norm not recorded"
    at = int(known[-1])
    text = f"last norm {number(float(norm[at]))}"
    limits = steps["clip_norm"][steps.known("clip_norm")]
    if not len(limits):
        return f"{text}, no norm limit"
    text += f", limit {number(float(limits[-1]))}"
    after = float(norm[at]) * float(factor[at])
    return text + (f", clipped to {number(after)}" if factor[at] < 1 else "")


def _share(steps: StepTable) -> str:
    factor, known = steps["clip_coefficient"], steps.known("clip_coefficient")
    active = known & (factor < 1)
    if not active.any():
        return _active(steps)
    at = int(np.argmin(np.where(active, factor, np.inf)))
    low = number(float(factor[at]))
    return f"{_active(steps)}, smallest factor {low} at step {int(steps.step[at])}"


def _active(steps: StepTable) -> str:
    factor, known = steps["clip_coefficient"], steps.known("clip_coefficient")
    measured, many = int(known.sum()), int((known & (factor < 1)).sum())
    if not measured:
        return "no single factor: clipped by value, or in parts"
    if not many:
        return f"never active in {count(measured, 'step')}"
    share = f"{100 * many / measured:.3g} %"
    return f"active in {many:,} of {count(measured, 'step')} ({share})"
