"""Memory of a step: what was predicted from shapes, beside what was measured."""

from collections.abc import Iterator

from ftlab.records.memory import CATEGORIES, PHASES, StepMemory
from ftlab.records.sizes import size
from ftlab.views.drawn import Canvas, DataFrame
from ftlab.views.memory.lifetimes import LifetimeView, draw_lives
from ftlab.views.view import View

Pair = tuple["StepMemory | None", "StepMemory | None"]


class StepMemoryView(View[Pair]):
    """What a step takes, by category and phase.

    Attributes
    ----------
    predicted
        Rehearsed from shapes alone; ``None`` where that could not be done.
    measured
        Executed; ``None`` without a batch.
    note
        Why there is no prediction.

    Examples
    --------
    >>> from ftlab.records.memory import Life, StepMemory
    >>> from ftlab.views.memory.step_memory import StepMemoryView
    >>> lives = (Life(4096, -1, 9, "weights"), Life(2048, 1, 6, "activations"))
    >>> StepMemoryView(StepMemory(lives, (0, 4, 8), 9))
    Memory of a step: 6 KiB predicted at its peak, in forward
                       predicted
      weights          4 KiB
      activations      2 KiB
      peak of forward  6 KiB
      peak of backward 6 KiB
      peak of update   4 KiB
    """

    title = "Memory of a step"

    def __init__(
        self,
        predicted: StepMemory | None,
        measured: StepMemory | None = None,
        note: str = "",
    ) -> None:
        super().__init__((predicted, measured))
        self.predicted = predicted
        self.measured = measured
        self.note = note

    @property
    def lifetimes(self) -> LifetimeView:
        """Each storage with its life: of the measured step, or of the predicted."""
        step = self.measured or self.predicted
        if step is None:
            msg = "nothing was predicted or measured"
            raise ValueError(msg)
        return LifetimeView(step, measured=self.measured is not None)

    @property
    def error(self) -> float:
        """How far the predicted peak is from the measured, relative, or NaN."""
        if self.predicted is None or self.measured is None:
            return float("nan")
        return self.predicted.peak / self.measured.peak - 1

    def headline(self) -> str:
        """Say what the peak is, and how far the prediction is from it."""
        predicted, measured = self.predicted, self.measured
        if measured is None:
            step = self.lifetimes.step
            return f"{size(step.peak)} predicted at its peak, in {_where(step)}"
        said = f"{size(measured.peak)} measured at its peak, in {_where(measured)}"
        if predicted is None:
            return said
        return f"{said}; {size(predicted.peak)} predicted ({100 * self.error:+.1f} %)"

    def _table(self, summary: Pair) -> DataFrame:
        import pandas as pd

        rows = [(name, *values) for name, values in _rows(summary)]
        measured = summary[1]
        if measured is not None and measured.heap:
            # never the same twice, so no text has it
            rows.append(("allocator's peak", float("nan"), max(measured.heap)))
        frame = pd.DataFrame(rows, columns=["what", "predicted", "measured"])
        return frame[["what", *_names(summary)]]

    def _text(self, summary: Pair) -> str:
        lines = [f"{self.title}: {self.headline()}", _line("", _names(summary))]
        for name, values in _rows(summary):
            lines.append(_line(name, [size(v) for v in values if v == v]))
        if self.note:
            lines.append(f"  not predicted: {self.note}")
        return "\n".join(lines)

    def size_of(self, summary: Pair) -> tuple[float, float]:
        """Give the legend room."""
        return 9.6, 4.0

    def draw_on(self, figure: Canvas, summary: Pair) -> None:
        """Draw what is alive over the step, the prediction as a line."""
        predicted, measured = summary
        other = predicted if measured is not None else None
        draw_lives(figure.subplots(), self.lifetimes.step, other)
        figure.suptitle(
            f"{self.title}: {self.headline()}", fontsize=9, x=0.01, ha="left"
        )


def _where(step: StepMemory) -> str:
    return step.phase_of(step.peak_at)


def _names(summary: Pair) -> list[str]:
    pairs = zip(("predicted", "measured"), summary, strict=True)
    return [name for name, each in pairs if each is not None]


def _line(name: str, values: list[str]) -> str:
    return f"  {name:<16} " + "  ".join(f"{each:<10}" for each in values).rstrip()


def _rows(summary: Pair) -> Iterator[tuple[str, tuple[float, float]]]:
    """Yield what each category holds at the peak, and each phase's peak."""
    nan = float("nan")
    there = [{} if each is None else each.at_peak() for each in summary]
    for name in CATEGORIES:
        one, other = (each.get(name, nan) for each in there)
        if one > 0 or other > 0:
            yield name, (one, other)
    peaks = [{} if each is None else each.peaks() for each in summary]
    for phase in PHASES:
        one, other = (each.get(phase, nan) for each in peaks)
        yield f"peak of {phase}", (one, other)
