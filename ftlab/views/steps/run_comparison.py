"""Two runs side by side: since which step they differ, in what first, and why."""

import textwrap
from collections.abc import Hashable
from dataclasses import dataclass

from ftlab.records.errors import BadValueError
from ftlab.runlog.parting_cause import cause_of
from ftlab.runlog.run import Run
from ftlab.runlog.run_comparison import RunComparison, compare_runs
from ftlab.runlog.seed_chain import sources_of
from ftlab.views.drawn import Canvas, DataFrame
from ftlab.views.style import SERIES, count
from ftlab.views.view import View


@dataclass(frozen=True, slots=True)
class ComparisonSummary:
    """What all forms of the view show.

    Attributes
    ----------
    found
        Where each quantity is first another one.
    cause
        What the first of them hangs on.
    sources
        Sources of randomness that differ: name, and the value on either side.
    """

    found: RunComparison
    cause: str
    sources: tuple[tuple[str, str, str], ...]


class RunComparisonView(View[ComparisonSummary]):
    """Since which step two runs differ, in what first, and what that hangs on.

    Parameters
    ----------
    left, right
        Runs, or what has one as ``run``.

    Raises
    ------
    BadValueError
        One of them is no run.

    Examples
    --------
    >>> from ftlab.records.step import StepRecord
    >>> from ftlab.runlog.run import Run
    >>> from ftlab.views.steps.run_comparison import RunComparisonView
    >>> one, other = Run(), Run()
    >>> for run in (one, other):
    ...     run.append(StepRecord(step=0, time=0.0, loss=2.5))
    >>> RunComparisonView(one, other)
    Two runs: everything recorded is the same in 1 step
    """

    title = "Two runs"

    def __init__(self, left: object, right: object) -> None:
        super().__init__()
        self._left, self._right = _run_of(left), _run_of(right)

    @property
    def step(self) -> int:
        """The first step that differs; -1 where none does."""
        first = self.summary.found.first
        return -1 if first is None else first.step

    def _stamp(self) -> Hashable:
        return self._left.version, self._right.version

    def _summarise(self) -> ComparisonSummary:
        found = compare_runs(self._left, self._right)
        cause = cause_of(self._left, self._right, found.first)
        one, other = (
            {each.name: each.value for each in sources_of(run)}
            for run in (self._left, self._right)
        )
        unlike = tuple(
            (name, one.get(name, "-"), other.get(name, "-"))
            for name in dict.fromkeys([*one, *other])
            if one.get(name) != other.get(name)
        )
        return ComparisonSummary(found, cause, unlike)

    def _table(self, summary: ComparisonSummary) -> DataFrame:
        import pandas as pd

        rows = [
            (each.what, each.step if each.step >= 0 else None)
            for each in summary.found.partings
        ]
        made = pd.DataFrame(rows, columns=["quantity", "differs from step"])
        return made.astype({"differs from step": "Int64"})

    def size_of(self, summary: ComparisonSummary) -> tuple[float, float]:
        """Leave room for what is said above the picture."""
        return (9.0, 2.8 + 0.17 * len(self._text(summary).splitlines()))

    def draw_on(self, figure: Canvas, summary: ComparisonSummary) -> None:
        """Say what is found, and draw how long each quantity is the same."""
        figure.suptitle(self._text(summary), x=0.01, ha="left", fontsize=9)
        axes = figure.subplots()
        found = summary.found
        for line, each in enumerate(found.partings):
            same = found.steps if each.step < 0 else each.step
            axes.barh(line, same, color=SERIES[2], label="same")
            axes.barh(line, found.steps - same, left=same, color=SERIES[1], hatch="//")
        axes.set_yticks(range(len(found.partings)), [p.what for p in found.partings])
        axes.invert_yaxis()
        axes.set_xlabel("step (plain: the same, hatched: since the first difference)")

    def _text(self, summary: ComparisonSummary) -> str:
        found, first = summary.found, summary.found.first
        if not found.steps:
            return "Two runs: they have no step in common"
        if first is None:
            said = f"everything recorded is the same in {count(found.steps, 'step')}"
            return "\n".join([f"Two runs: {said}", *_unlike(summary)])
        where = ""
        if first.sample is not None:
            where = " (row {1} of micro-batch {0})".format(*first.sample)
        lines = [
            f"Two runs: they differ from step {first.step} on",
            f"  first in {first.what}{where}",
            *wrapped(f"because {summary.cause}"),
        ]
        return "\n".join([*lines, *_unlike(summary)])


WIDTH = 96
"""Characters of a line of text."""


def wrapped(sentence: str) -> list[str]:
    """Break a sentence into lines of a view's text."""
    return textwrap.wrap(sentence, WIDTH, initial_indent="  ", subsequent_indent="    ")


def _unlike(summary: ComparisonSummary) -> list[str]:
    said = [f"{name}: {one} | {other}" for name, one, other in summary.sources]
    return [line for each in said for line in wrapped(each)]


def _run_of(given: object) -> Run:
    run = given if isinstance(given, Run) else getattr(given, "run", None)
    if not isinstance(run, Run):
        msg = (
            f"against({given!r:.80}): it takes a run: a watch, or "
            'ftlab.open_run("runs/...").'
        )
        raise BadValueError(msg)
    return run
