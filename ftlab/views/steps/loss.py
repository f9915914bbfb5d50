"""The loss view: loss, evaluations, learning rates, gradient norm and clipping."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ftlab.runlog.run import Run
from ftlab.views.charts.lines import LinesView
from ftlab.views.charts.plan import LinesSummary, Panel, Plan, Series
from ftlab.views.style import SERIES, SPECIAL, count, number

BLUE, ORANGE, GREEN = SERIES[:3]
MOST_GROUPS = 6
"""Learning rates of more parameter groups are in the table only."""


class LossView(LinesView):
    """Loss, learning rates, gradient norm and clipping over the steps of a run.

    Steps whose loss is NaN or infinite carry a mark, and so do steps that the
    GradScaler skipped. Evaluations are dots.

    Examples
    --------
    >>> from ftlab.records.step import StepRecord
    >>> from ftlab.runlog.run import Run
    >>> from ftlab.views.steps.loss import LossView
    >>> run = Run()
    >>> for step, loss in enumerate([2.5, 2.25, float("nan")]):
    ...     run.append(StepRecord(step, time=0.0, loss=loss, lr=(1e-4,)))
    >>> LossView(run)
    Loss: 3 steps
    last NaN, lowest 2.25 at step 1; NaN or Inf at 1 step, first at step 2
    learning rate 0.0001
    """

    title = "Loss"

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._evaluated = 0

    def _groups(self) -> int:
        return min(self._run.steps["lr"].shape[1], MOST_GROUPS)

    def _make_plan(self) -> Plan:
        groups = self._groups()
        rows = {
            "loss": "mean",
            "loss_low": "smallest",
            "loss_high": "largest",
            "non_finite": "largest",
            "skipped": "largest",
            "eval_loss": "latest",
            "grad_norm": "largest",
            "clip_norm": "latest",
        }
        rows |= {f"lr_{group}": "latest" for group in range(groups)}
        loss = (
            Series("loss_low", "", BLUE, "low"),
            Series("loss_high", "", BLUE, "high"),
            Series("loss", "loss", BLUE),
            Series("eval_loss", "evaluation", ORANGE, "dots"),
            Series("skipped", "skipped", SERIES[4], "mark"),
            Series("non_finite", "NaN or Inf", SPECIAL["non-finite"], "mark"),
        )
        lr = tuple(
            Series(f"lr_{group}", f"group {group}" if groups > 1 else "", SERIES[group])
            for group in range(groups)
        )
        norm = (
            Series("grad_norm", "before clipping", GREEN),
            Series("clip_norm", "max_norm", SERIES[4]),
            Series("non_finite", "", SPECIAL["non-finite"], "mark"),
        )
        panels = [Panel("Loss", loss), Panel("Learning rate", lr)]
        return Plan(rows, (*panels, Panel("Gradient norm", norm, log=True)))

    def _read(self, start: int, stop: int) -> tuple[NDArray[np.int64], ArrayLike]:
        steps = self._run.window(start, stop).steps
        loss, known = steps["loss"], steps.known("loss")
        finite = np.where(np.isfinite(loss), loss, np.nan)
        bad = np.where(known, ~np.isfinite(loss), np.nan)
        norm = steps["grad_norm"]
        columns = [
            finite,
            finite,
            finite,
            bad,
            steps["skipped"].astype(np.float64),
            np.full(len(steps), np.nan),
            np.where(np.isfinite(norm), norm, np.nan),
            steps["clip_norm"],
            *steps["lr"].T[: self._groups()],
        ]
        return steps.step, np.stack(columns, 1)

    def _restart(self) -> None:
        super()._restart()
        self._evaluated = 0

    def _read_new(self) -> None:
        super()._read_new()
        # an evaluation comes after the steps that it follows
        entries = self._run.evaluations
        names = list(self._make_plan().rows)
        for entry in entries[self._evaluated :]:
            if "eval_loss" in entry.metrics:
                column = [np.nan] * len(names)
                column[names.index("eval_loss")] = entry.metrics["eval_loss"]
                self._columns.put(entry.step, column)
        self._evaluated = len(entries)

    def _notes(self) -> tuple[str, ...]:
        steps = self._run.steps
        return _loss_note(self._run), _rate_note(steps), _clip_note(steps)

    def _data(self) -> Mapping[str, Any]:
        run = self._run.window(0)
        steps, evaluations = run.steps, _evaluations(run)
        data: dict[str, Any] = {"step": steps.step, "loss": steps["loss"]}
        data["skipped"] = steps["skipped"]
        for name in ("grad_norm", "clip_norm", "clip_coefficient", "loss_scale"):
            data[name] = steps[name]
        for group in range(steps["lr"].shape[1]):
            data[f"lr_{group}"] = steps["lr"][:, group]
        data["eval_loss"] = [evaluations.get(int(step), np.nan) for step in steps.step]
        return data

    def _text(self, summary: LinesSummary) -> str:
        taken = len(summary.data["step"])
        if not taken:
            return "Loss: nothing recorded yet"
        loss, rate, clip = summary.notes
        lines = [f"Loss: {count(taken, 'step')}", loss]
        lines += [f"learning rate {rate}"] if rate else []
        lines += [f"gradient norm {clip}"] if clip else []
        return "\n".join(lines)


def _evaluations(run: Any) -> dict[int, float]:
    return {
        entry.step: float(entry.metrics["eval_loss"])
        for entry in run.evaluations
        if "eval_loss" in entry.metrics
    }


def _loss_note(run: Any) -> str:
    steps = run.steps
    loss, known = steps["loss"], steps.known("loss")
    if not known.any():
        return "not recorded"
    text = f"last {number(float(loss[known][-1]))}"
    finite = known & np.isfinite(loss)
    if finite.any():
        lowest = np.flatnonzero(finite)[int(np.argmin(loss[finite]))]
        where = int(steps.step[lowest])
        text += f", lowest {number(float(loss[lowest]))} at step {where}"
    bad = known & ~finite
    if bad.any():
        first = int(steps.step[int(np.argmax(bad))])
        text += (
            f"; NaN or Inf at {count(int(bad.sum()), 'step')}, first at step {first}"
        )
    skipped = int(steps["skipped"].sum())
    if skipped:
        text += f"; {count(skipped, 'step')} skipped by the scaler"
    return text


def _rate_note(steps: Any) -> str:
    rates = steps["lr"]
    if not rates.size:
        return ""
    groups = Counter(number(float(rate)) for rate in rates[-1])
    if len(groups) == 1:
        return next(iter(groups))
    return ", ".join(
        rate if many == 1 else f"{rate} ({many} groups)"
        for rate, many in groups.items()
    )


def _clip_note(steps: Any) -> str:
    known = steps.known("grad_norm")
    if not known.any():
        return ""
    text = f"last {number(float(steps['grad_norm'][known][-1]))}"
    coefficient = steps["clip_coefficient"]
    measured = steps.known("clip_coefficient")
    if measured.any():
        share = float((coefficient[measured] < 1).mean())
        text += f", clipped in {100 * share:.0f} % of the steps"
    return text
