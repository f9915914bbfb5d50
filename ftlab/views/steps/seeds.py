"""The seed chain: what random numbers hang on, and which steps have drawn some."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ftlab.records.loader_start import GENERATORS
from ftlab.runlog.same_data import SameData, same_data
from ftlab.runlog.seed_chain import Source, sources_of
from ftlab.views.drawn import Canvas
from ftlab.views.steps.run_comparison import RunComparisonView, wrapped
from ftlab.views.style import SERIES, count
from ftlab.views.view import Rows, RunView

_SAID = {True: "fixed", False: "not fixed", None: ""}


@dataclass(frozen=True, slots=True, eq=False)
class SeedSummary:
    """What all forms of the view show.

    Attributes
    ----------
    same
        Whether another start would see the same data.
    sources
        Of random numbers, order and arithmetic.
    steps
        That were recorded.
    drawn
        By generator, the steps behind which it stood elsewhere than before.
    """

    same: SameData
    sources: tuple[Source, ...]
    steps: int
    drawn: dict[str, NDArray[np.int64]]


class SeedsView(RunView[SeedSummary]):
    """Every source of randomness of a run, and the steps that have drawn from it.

    Examples
    --------
    >>> from ftlab.runlog.run import Run
    >>> from ftlab.views.steps.seeds import SeedsView
    >>> SeedsView(Run())
    Seeds: nothing recorded yet
    """

    title = "Seeds"
    headings = ("source", "value", "at another start")

    def against(self, other: object) -> RunComparisonView:
        """Compare with another run: since which step they differ, in what, and why.

        Parameters
        ----------
        other
            A run, or what has one: a watch, or what `ftlab.open_run` gives.

        Raises
        ------
        BadValueError
            It is neither.

        Examples
        --------
        >>> from ftlab.runlog.run import Run
        >>> from ftlab.views.steps.seeds import SeedsView
        >>> SeedsView(Run()).against(Run())
        Two runs: they have no step in common
        """
        return RunComparisonView(self._run, other)

    def _summarise(self) -> SeedSummary:
        table = self._run.steps
        drawn = {}
        for column, name in GENERATORS.items():
            values = table[column] if column in table else np.zeros(0)
            if np.isfinite(values).any():
                moved = np.flatnonzero(values[1:] != values[:-1]) + 1
                drawn[name] = table.step[moved]
        return SeedSummary(
            same_data(self._run), sources_of(self._run), len(table), drawn
        )

    def _table(self, summary: SeedSummary) -> Rows:
        return [(each.name, each.value, _SAID[each.fixed]) for each in summary.sources]

    def size_of(self, summary: SeedSummary) -> tuple[float, float]:
        """Leave room for what is said above the picture."""
        return (9.0, 2.0 + 0.17 * len(self._text(summary).splitlines()))

    def draw_on(self, figure: Canvas, summary: SeedSummary) -> None:
        """List the sources, and draw which steps have drawn from each generator."""
        figure.suptitle(self._text(summary), x=0.01, ha="left", fontsize=9)
        axes = figure.subplots()
        for line, (name, steps) in enumerate(summary.drawn.items()):
            axes.plot(
                steps, np.full(len(steps), line), "|", color=SERIES[line], label=name
            )
        axes.set_yticks(range(len(summary.drawn)), list(summary.drawn))
        axes.set_ylim(max(len(summary.drawn), 1) - 0.5, -0.5)
        axes.set_xlim(-0.5, max(summary.steps, 1) - 0.5)
        axes.set_xlabel("step")
        axes.set_title("steps that have drawn from a generator")

    def _text(self, summary: SeedSummary) -> str:
        if not summary.sources and not summary.steps:
            return "Seeds: nothing recorded yet"
        lines = [
            f"Seeds: {count(summary.steps, 'step')}",
            *wrapped(f"a new start would see the same data: {summary.same}"),
        ]
        for each in summary.sources:
            said = f" ({_SAID[each.fixed]})" if each.fixed is False else ""
            lines.append(f"  {each.name}: {each.value}{said}")
        for name, steps in summary.drawn.items():
            lines.append(f"  {name}: drawn from in {count(len(steps), 'step')}")
        return "\n".join(lines)
