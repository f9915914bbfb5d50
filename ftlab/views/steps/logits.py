"""The view of logits: how large they are, and how sure the model is."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ftlab.runlog.steps import StepTable
from ftlab.views.charts.lines import LinesView
from ftlab.views.charts.plan import LinesSummary, Panel, Plan, Series
from ftlab.views.style import SERIES, SPECIAL, count, number

BLUE, ORANGE, GREEN = SERIES[:3]
GREY = "#8c8c8c"
COLUMNS = ("logit_max", "logit_spread", "entropy", "top_probability")


class LogitsView(LinesView):
    """Range of the logits, entropy and top probability of what the model predicts.

    They are measured every few steps, of a sample of the positions that have a label.
    The entropy of a model that knows nothing is the logarithm of the vocabulary's size;
    an entropy near 0 is a model that is sure of every token.

    Examples
    --------
    >>> from ftlab.records.step import StepRecord
    >>> from ftlab.runlog.run import Run
    >>> from ftlab.views.steps.logits import LogitsView
    >>> run = Run()
    >>> values = {"logit_max": 3.0, "logit_spread": 2.0, "entropy": 2.4}
    >>> values |= {"top_probability": 0.25, "vocabulary": 16.0}
    >>> run.append(StepRecord(0, 0.0, values=values))
    >>> LogitsView(run)
    Logits: measured at 1 step
    largest magnitude 3, largest over mean 2
    2.4 nats, 87 % of ln(16)
    25 % on the most likely token
    """

    title = "Logits"

    def headline(self) -> str:
        """Return the last entropy and the largest logit, in one line."""
        steps = self._run.steps
        at = _latest(steps)
        if at < 0:
            return ""
        return f"entropy {_entropy(steps, at)}; largest {_number(steps, at)}"

    def _make_plan(self) -> Plan:
        rows = {
            "logit_max": "largest",
            "logit_spread": "mean",
            "entropy": "mean",
            "uniform": "latest",
            "top_probability": "mean",
            "non_finite": "largest",
        }
        bad = Series("non_finite", "NaN or Inf", SPECIAL["non-finite"], "mark")
        logits = (
            Series("logit_max", "largest magnitude", BLUE),
            Series("logit_spread", "largest over mean", GREEN),
            bad,
        )
        entropy = (
            Series("uniform", "ln(vocabulary): knows nothing", GREY),
            Series("entropy", "entropy", ORANGE),
        )
        sure = (Series("top_probability", "", ORANGE),)
        panels = (
            Panel("Logits", logits),
            Panel("Entropy", entropy, unit="nats", floor=0.0),
            Panel("Top probability", sure, unit="%", floor=0.0),
        )
        return Plan(rows, panels)

    def _read(self, start: int, stop: int) -> tuple[NDArray[np.int64], ArrayLike]:
        steps = self._run.window(start, stop).steps
        values = [steps[name] for name in COLUMNS]
        bad = steps.known("entropy") & ~np.all(np.isfinite(values), axis=0)
        finite = [np.where(np.isfinite(each), each, np.nan) for each in values]
        columns = [*finite[:3], np.log(steps["vocabulary"]), 100 * finite[3], bad]
        return steps.step, np.stack(columns, 1)

    def _notes(self) -> tuple[str, ...]:
        steps = self._run.steps
        at = _latest(steps)
        if at < 0:
            return ("not recorded",) * 3
        logits = f"largest magnitude {_number(steps, at)}, largest over mean "
        logits += number(float(steps["logit_spread"][at]))
        sure = 100 * float(steps["top_probability"][at])
        top = f"{sure:.3g} % on the most likely token"
        return logits, _entropy(steps, at), top

    def _data(self) -> Mapping[str, Any]:
        steps = self._run.window(0).steps
        rows = steps.known("entropy")
        data: dict[str, Any] = {"step": steps.step[rows]}
        data |= {name: steps[name][rows] for name in COLUMNS}
        return data | {"ln_vocabulary": np.log(steps["vocabulary"][rows])}

    def _text(self, summary: LinesSummary) -> str:
        taken = len(summary.data["step"])
        if not taken:
            return "Logits: nothing recorded yet"
        head = f"Logits: measured at {count(taken, 'step')}"
        return "\n".join([head, *summary.notes])


def _latest(steps: StepTable) -> int:
    """Return the row of the last measurement; -1 when there is none."""
    known = np.flatnonzero(steps.known("entropy"))
    return int(known[-1]) if len(known) else -1


def _number(steps: StepTable, at: int) -> str:
    return number(float(steps["logit_max"][at]))


def _entropy(steps: StepTable, at: int) -> str:
    entropy, size = float(steps["entropy"][at]), float(steps["vocabulary"][at])
    text = f"{number(entropy)} nats"
    if math.isnan(size) or size < 2 or not math.isfinite(entropy):
        return text
    return f"{text}, {100 * entropy / math.log(size):.0f} % of ln({size:,.0f})"
