"""The view of the loss scale: how it grew and fell, and which steps it cost."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ftlab.records.errors import BadValueError
from ftlab.runlog.run import Run
from ftlab.runlog.steps import StepTable
from ftlab.views.charts.lines import LinesView
from ftlab.views.charts.plan import LinesSummary, Panel, Plan, Series
from ftlab.views.drawn import DataFrame
from ftlab.views.style import SERIES, count, number, steps as step_words

BLUE, ORANGE = SERIES[:2]
MOST_TABLED = 64
"""Skipped steps, the last ones, whose tensors `ScalerView.table` looks at."""


class ScalerView(LinesView):
    """The loss scale of mixed precision over the steps, and the steps that it skipped.

    A GradScaler skips a step in which a gradient is not finite, and halves its scale;
    after many good steps it doubles it. Single skips are how it finds its scale: a
    share that stays high, or many in a row, is trouble.

    Examples
    --------
    >>> from ftlab.records.step import StepRecord
    >>> from ftlab.runlog.run import Run
    >>> from ftlab.views.steps.scaler import ScalerView
    >>> run = Run()
    >>> for step, scale in enumerate([1024.0, 1024.0, 512.0, 512.0]):
    ...     run.append(StepRecord(step, 0.0, loss_scale=scale, skipped=step == 1))
    >>> ScalerView(run)
    Loss scale: 4 steps
    last 512; grew 0 times, backed off 1 time
    1 of 4 steps skipped (25 %), longest run 1, step 1
    """

    title = "Loss scale"

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._row = 0
        self._found: tuple[Any, str] = None, ""

    def table(self, by: Literal["step", "tensor"] = "step") -> DataFrame:
        """Return the scale by step, or the non-finite gradients of skipped steps.

        Parameters
        ----------
        by
            ``"step"``: columns ``step``, ``loss_scale``, ``skipped``,
            ``skipped_in_a_row`` and ``change`` (the factor from the step before).
            ``"tensor"``: of the last 64 skipped steps, one line per tensor whose
            gradient was not finite, the one nearest the loss first.
        """
        if by not in ("step", "tensor"):
            msg = f"table(by={by!r}): allowed are 'step' and 'tensor'."
            raise BadValueError(msg)
        if by == "step":
            return super().table()
        return _tensors(self._run.window(0))

    def headline(self) -> str:
        """Return the scale and what it cost, in one line."""
        steps = self._run.steps
        if not _applies(steps):
            return ""
        return f"{_last(steps).removeprefix('last ')}; {_skips(steps)}"

    def _make_plan(self) -> Plan:
        rows = {"loss_scale": "latest", "skipped": "largest", "in_a_row": "largest"}
        scale = (
            Series("loss_scale", "", BLUE),
            Series("skipped", "skipped", ORANGE, "mark"),
        )
        panels = (
            Panel("Loss scale", scale, log=True),
            Panel("Skipped in a row", (Series("in_a_row", "", ORANGE),), unit="steps"),
        )
        return Plan(rows, panels)

    def _restart(self) -> None:
        super()._restart()
        self._row = 0

    def _read(self, start: int, stop: int) -> tuple[NDArray[np.int64], ArrayLike]:
        steps = self._run.window(start, stop).steps
        skipped = steps["skipped"]
        rows = in_a_row(skipped, self._row)
        self._row = int(rows[-1]) if len(rows) else self._row
        return steps.step, np.stack([steps["loss_scale"], skipped, rows], 1)

    def _notes(self) -> tuple[str, ...]:
        steps = self._run.steps
        if not _applies(steps):
            return "not recorded", "not recorded"
        up, down = changes(steps["loss_scale"])
        moved = f"grew {count(up, 'time')}, backed off {count(down, 'time')}"
        return f"{_last(steps)}; {moved}", _skips(steps), self._where(steps)

    def _where(self, steps: StepTable) -> str:
        """Name the first non-finite tensors of the last skipped step."""
        skipped = steps.step[steps["skipped"]]
        if not len(skipped):
            return ""
        key = id(self._run), int(skipped[-1])
        if self._found[0] != key:
            self._found = key, _words(self._run, int(skipped[-1]))
        return self._found[1]

    def _data(self) -> Mapping[str, Any]:
        steps = self._run.window(0).steps
        scale, skipped = steps["loss_scale"], steps["skipped"]
        with np.errstate(all="ignore"):
            change = scale[1:] / scale[:-1]
        return {
            "step": steps.step,
            "loss_scale": scale,
            "skipped": skipped,
            "skipped_in_a_row": in_a_row(skipped),
            "change": np.concatenate([np.full(min(len(scale), 1), np.nan), change]),
        }

    def _text(self, summary: LinesSummary) -> str:
        taken = len(summary.data["step"])
        if not taken or summary.notes[0] == "not recorded":
            return "Loss scale: nothing recorded yet"
        lines = [f"Loss scale: {count(taken, 'step')}", *summary.notes]
        return "\n".join(line for line in lines if line)


def in_a_row(skipped: NDArray[Any], before: int = 0) -> NDArray[np.int64]:
    """Count at each step how many were skipped in a row up to it, itself included.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.views.steps.scaler import in_a_row
    >>> in_a_row(np.array([True, True, False, True]), before=3).tolist()
    [4, 5, 0, 1]
    """
    at = np.arange(len(skipped))
    taken = np.where(skipped, -1 - before, at)
    return at - np.maximum.accumulate(taken) if len(at) else at


def changes(scale: NDArray[np.float64]) -> tuple[int, int]:
    """Count how often a scale grew and how often it fell."""
    known = scale[np.isfinite(scale)]
    return int((known[1:] > known[:-1]).sum()), int((known[1:] < known[:-1]).sum())


def _applies(steps: StepTable) -> bool:
    return bool(steps.known("loss_scale").any() or steps["skipped"].any())


def _last(steps: StepTable) -> str:
    known = steps.known("loss_scale")
    if not known.any():
        return "scale not recorded"
    scale = float(steps["loss_scale"][known][-1])
    # a power of two, which three digits would not be
    return f"last {scale:,.0f}" if 1 <= scale < 2**40 else f"last {number(scale)}"


def _skips(steps: StepTable) -> str:
    skipped, taken = steps["skipped"], len(steps)
    many = int(skipped.sum())
    if not many:
        return f"no step of {taken:,} skipped"
    rows = in_a_row(skipped)
    end = int(np.argmax(rows))
    longest = int(rows[end])
    where = step_words(int(steps.step[end - longest + 1]), int(steps.step[end]))
    text = f"{many:,} of {count(taken, 'step')} skipped ({100 * many / taken:.3g} %), "
    return text + f"longest run {longest:,}, {where}"


def _bad(run: Run, step: int) -> tuple[list[int], int]:
    """Return the rows whose gradient is not finite, last of the model first, of all."""
    bad: set[int] = set()
    many = 0
    for column in ("grad_l2", "grad_max"):
        matrix = run.matrix(column, start=step, stop=step + 1)
        if len(matrix.steps):
            many = max(many, int(matrix.known[0].sum()))
            bad |= set(matrix.ids[matrix.nonfinite[0] > 0].tolist())
    return sorted(bad, reverse=True), many


def _words(run: Run, step: int) -> str:
    bad, many = _bad(run, step)
    if not bad:
        return ""
    names = run.names("tensors")
    nearest = names[bad[0]].name if bad[0] in names else "a tensor without a name"
    text = f"Step {step}, skipped: {len(bad)} of {count(many, 'gradient')} not finite"
    return f"{text}; nearest the loss: {nearest}"


def _tensors(run: Run) -> DataFrame:
    import pandas as pd

    steps, names = run.steps, run.names("tensors")
    lines = [
        {"step": step, "tensor": names[row].name, "layer": names[row].layer}
        for step in steps.step[steps["skipped"]][-MOST_TABLED:].tolist()
        for row in _bad(run, step)[0]
        if row in names
    ]
    return pd.DataFrame(lines, columns=["step", "tensor", "layer"])
