"""Whether an evaluation loss rises while the training loss falls, and since when.

Who calls whom: a view shows the comparison, a rule judges by it.

The rule, and where its numbers come from. An evaluation is one number with noise, so
the median of three in a row is compared. Evaluation *rises* when each of the last three
is above the lowest such median by more than `MARGIN` of it and by more than `NOISES`
times the noise, which is taken from the second differences of the evaluations (a trend
leaves none). Training *falls* when the mean loss of the steps since is below that of as
many steps before, by more than `ERRORS` standard errors.

Looked at after every third of 60 evaluations, this spoke in none of 4,000 simulated
healthy runs (losses that decay and level off, with noise of 0.1 to 10 %, alone or
carried on from one evaluation to the next), and after none of the evaluations of 48
real ones (24 that learned all there is, 24 on a plateau of noisy labels). Twelve small
models that learned random tokens by heart turned at their first evaluation; it spoke
after the sixth or seventh of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ftlab.runlog.run import Run

FEWEST = 6
"""Evaluations without which nothing is said."""

MARGIN = 0.02
"""Share of the lowest evaluation loss that a rise must exceed."""

NOISES = 8.0
"""Standard deviations of the evaluations' noise that a rise must exceed."""

ERRORS = 3.0
"""Standard errors that the fall of the training loss must exceed."""

LAST = 3
"""Evaluations that must all be high."""


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """One evaluation loss beside the training loss.

    Attributes
    ----------
    metric
        Its name: ``"eval_loss"``.
    steps, evaluation
        When it was measured, and what.
    training
        Mean training loss of the steps since the evaluation before; NaN where none.
    verdict
        ``"diverges"``, ``"both rise"``, ``"together"``, or ``"cannot tell"``.
    since
        Step from which on they go apart; -1 when they do not.
    lowest
        The lowest median of three evaluations.
    before, after
        Mean training loss up to that step, and since.
    """

    metric: str
    steps: NDArray[np.int64]
    evaluation: NDArray[np.float64]
    training: NDArray[np.float64]
    verdict: str
    since: int = -1
    lowest: float = float("nan")
    before: float = float("nan")
    after: float = float("nan")

    def __repr__(self) -> str:
        count = len(self.steps)
        head = f"{self.metric}, {count} evaluations: "
        if self.verdict == "cannot tell":
            return f"{head}cannot tell; at least {FEWEST} finite ones are needed"
        if self.since < 0:
            return f"{head}no rise; the lowest was {_number(self.lowest)}"
        rise = f"rises from step {self.since} on"
        rise += f" ({_number(self.lowest)} to {_number(float(self.evaluation[-1]))})"
        fall = f"({_number(self.before)} to {_number(self.after)})"
        if self.verdict == "diverges":
            return f"{head}{rise}, while training loss falls {fall}"
        return f"{head}{rise}; training loss does not fall {fall}"


def compare(
    metric: str,
    steps: Sequence[int],
    evaluation: Sequence[float],
    training: tuple[NDArray[np.int64], NDArray[np.float64]],
) -> Comparison:
    """Compare evaluations with the training losses, given by step.

    Examples
    --------
    >>> import numpy as np
    >>> from ftlab.runlog.divergence import compare
    >>> training = np.arange(100), np.linspace(4.0, 0.5, 100)
    >>> evaluation = [3.0, 2.5, 2.2, 2.1, 2.2, 2.3, 2.5, 2.7, 2.9, 3.1]
    >>> compare("eval_loss", range(10, 110, 10), evaluation, training)
    eval_loss, 10 evaluations: rises from step 40 on (2.2 to 3.1), while training loss \
falls (3.31 to 1.54)
    """
    at, values = np.asarray(steps, np.int64), np.asarray(evaluation, float)
    finite = np.isfinite(values)
    at, values = at[finite], values[finite]
    known, losses = training[0], training[1]
    usable = np.isfinite(losses)
    known, losses = known[usable], losses[usable]
    means = _between(at, known, losses)
    if len(values) < FEWEST:
        return Comparison(metric, at, values, means, "cannot tell")
    medians = _medians(values)
    best = int(np.argmin(medians))
    lowest = float(medians[best])
    if float(values[-LAST:].min()) <= lowest + max(
        MARGIN * abs(lowest), NOISES * _noise(values)
    ):
        return Comparison(metric, at, values, means, "together", lowest=lowest)
    since = int(at[best : best + LAST][np.argmin(values[best : best + LAST])])
    later = losses[known >= since]
    earlier = losses[known < since][-max(len(later), 2) :]
    before, after, falls = _falls(earlier, later)
    verdict = "diverges" if falls else "both rise"
    return Comparison(metric, at, values, means, verdict, since, lowest, before, after)


def comparisons(run: Run) -> tuple[Comparison, ...]:
    """Compare each evaluation loss of a run with its training loss."""
    table = run.steps
    training = table.step, table["loss"]
    series: dict[str, tuple[list[int], list[float]]] = {}
    for each in run.evaluations:
        for name, value in each.metrics.items():
            if name == "loss" or name.endswith("_loss"):
                steps, values = series.setdefault(name, ([], []))
                steps.append(each.step)
                values.append(value)
    return tuple(
        compare(name, steps, values, training)
        for name, (steps, values) in series.items()
    )


def _medians(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the median of each three in a row."""
    windows = np.lib.stride_tricks.sliding_window_view(values, LAST)
    return np.asarray(np.median(windows, axis=1))


def _noise(values: NDArray[np.float64]) -> float:
    """Estimate the standard deviation of single evaluations about their trend."""
    bends = np.abs(np.diff(values, 2))
    return float(1.4826 * np.median(bends) / np.sqrt(6.0))


def _falls(
    earlier: NDArray[np.float64], later: NDArray[np.float64]
) -> tuple[float, float, bool]:
    if len(earlier) < 2 or len(later) < 2:
        return float("nan"), float("nan"), False
    before, after = float(earlier.mean()), float(later.mean())
    errors = earlier.var(ddof=1) / len(earlier) + later.var(ddof=1) / len(later)
    return before, after, before - after > ERRORS * float(errors**0.5)


def _number(value: float) -> str:
    return f"{value:.3g}"


def _between(
    at: NDArray[np.int64], steps: NDArray[np.int64], losses: NDArray[np.float64]
) -> NDArray[np.float64]:
    starts = np.concatenate([[-1], at[:-1]])
    found = [
        losses[(steps >= start) & (steps < stop)]
        for start, stop in zip(starts, at, strict=True)
    ]
    return np.array([each.mean() if len(each) else np.nan for each in found])
