"""Training against evaluation: from which step on one rises while the other falls.

The comparison, and where its numbers come from: `ftlab.runlog.divergence`.
"""

from ftlab.runlog.divergence import Comparison, comparisons
from ftlab.views.drawn import Canvas, DataFrame
from ftlab.views.style import SERIES
from ftlab.views.view import RunView


class DivergenceView(RunView[tuple[Comparison, ...]]):
    """Evaluation losses beside the training loss, and from when on they go apart.

    Parameters
    ----------
    run
        With evaluations: a Trainer's, from its ``eval_strategy``.
    """

    title = "Training against evaluation"

    @property
    def diverges(self) -> bool:
        """Whether an evaluation loss rises while the training loss falls."""
        return any(each.verdict == "diverges" for each in self.summary)

    @property
    def since(self) -> int:
        """First step from which on they go apart; -1 when they do not."""
        found = [each.since for each in self.summary if each.verdict == "diverges"]
        return min(found, default=-1)

    def _summarise(self) -> tuple[Comparison, ...]:
        return comparisons(self._run)

    def _table(self, summary: tuple[Comparison, ...]) -> DataFrame:
        import pandas as pd

        parts = [
            pd.DataFrame(
                {
                    "metric": each.metric,
                    "step": each.steps,
                    "evaluation": each.evaluation,
                    "training": each.training,
                    "verdict": each.verdict,
                    "since": each.since,
                }
            )
            for each in summary
        ]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def draw_on(self, figure: Canvas, summary: tuple[Comparison, ...]) -> None:
        """Draw each evaluation loss, the training loss, and where they part."""
        axes = figure.subplots()
        for each, colour in zip(summary, SERIES[1:], strict=False):
            axes.plot(
                each.steps, each.evaluation, "o-", color=colour, label=each.metric
            )
            if each.verdict == "diverges":
                axes.axvline(each.since, color=colour, linestyle=":")
        if summary:
            longest = max(summary, key=lambda each: len(each.steps))
            axes.plot(
                longest.steps, longest.training, color=SERIES[0], label="training"
            )
            axes.legend()
        axes.set_xlabel("step")
        axes.set_ylabel("loss")

    def _text(self, summary: tuple[Comparison, ...]) -> str:
        if not summary:
            return (
                f"{self.title}: no evaluation so far; a Trainer evaluates with "
                "eval_strategy='steps'"
            )
        return "\n  ".join([self.title, *map(repr, summary)])
