"""The samples with the highest losses of a run, and what they begin with."""

import math
from dataclasses import astuple, dataclass, fields

import numpy as np

from ftlab.records.event import Event
from ftlab.views.drawn import Canvas, DataFrame
from ftlab.views.style import SERIES
from ftlab.views.view import RunView

SHOWN = 10
"""Samples that text and figure show."""

UNUSUAL = 3
"""Of the others, samples that the text shows."""

WORDS = 48
"""Characters of a sample's beginning that the text shows."""


@dataclass(frozen=True, slots=True)
class HighSample:
    """One sample whose loss was among the highest.

    Attributes
    ----------
    micro_batch, sample
        Which micro-batch of the step, and which row of it.
    loss
        Mean over its labels.
    tokens
        How many labels it has.
    usual
        Median loss of the samples before it, 256 at most; NaN for the first ones.
    text
        What it begins with; token ids where no tokenizer is known.
    """

    step: int
    micro_batch: int
    sample: int
    loss: float
    tokens: int
    usual: float
    text: str

    @property
    def above(self) -> float:
        """How far the loss is above the usual one."""
        return self.loss - self.usual

    def __repr__(self) -> str:
        place = (
            f"step {self.step}, micro-batch {self.micro_batch}, sample {self.sample}"
        )
        words = f"{place}: loss {self.loss:.3g} over {self.tokens}"
        if not math.isnan(self.usual):
            words += f" (usual {self.usual:.3g})"
        cut = self.text[:WORDS] + "..." if len(self.text) > WORDS else self.text
        return f"{words} {cut!r}" if cut else words


class HighestLossesView(RunView[tuple[HighSample, ...]]):
    """The samples with the highest losses, the highest first.

    Parameters
    ----------
    run
        Where they were written down, with ``ftlab.watch(..., highest_losses=20)``.

    Examples
    --------
    >>> from ftlab.records.event import Event
    >>> from ftlab.runlog.run import Run
    >>> from ftlab.views.tokens.samples import HighestLossesView
    >>> run = Run()
    >>> detail = {"sample": 3, "micro_batch": 0, "loss": 9.5, "tokens": 63}
    >>> detail |= {"keep": 20, "usual": 2.25, "ids": [5, 6], "text": "the year"}
    >>> run.append(Event("sample", 17, 0.0, "", detail))
    >>> HighestLossesView(run)
    Highest losses of single samples: 1 kept
      step 17, micro-batch 0, sample 3: loss 9.5 over 63 (usual 2.25) 'the year'
    """

    title = "Highest losses"

    def _summarise(self) -> tuple[HighSample, ...]:
        events = [each for each in self._run.events if each.kind == "sample"]
        keep = max((each.detail["keep"] for each in events), default=0)
        highest = sorted(map(_sample, events), key=_badness)
        unusual = sorted(highest, key=_unusualness)[:keep]
        chosen = {id(each) for each in (*highest[:keep], *unusual)}
        return tuple(each for each in highest if id(each) in chosen)

    def _table(self, summary: tuple[HighSample, ...]) -> DataFrame:
        import pandas as pd

        columns = [field.name for field in fields(HighSample)]
        table = pd.DataFrame(map(astuple, summary), columns=columns)
        table.insert(len(columns) - 1, "above", table["loss"] - table["usual"])
        return table

    def size_of(self, summary: tuple[HighSample, ...]) -> tuple[float, float]:
        """Return width and height in inches, by how many samples there are."""
        return (9.0, 1.2 + 0.28 * min(len(summary), SHOWN))

    def draw_on(self, figure: Canvas, summary: tuple[HighSample, ...]) -> None:
        """Draw a bar for each of the highest, beside what was usual."""
        axes = figure.subplots()
        shown = summary[:SHOWN]
        rows = np.arange(len(shown))
        losses = np.nan_to_num([each.loss for each in shown], posinf=0.0)
        axes.barh(rows, losses, color=SERIES[0], label="loss")
        usual = [each.usual for each in shown]
        axes.plot(usual, rows, "|", color="black", markersize=12, label="usual")
        labels = [f"step {each.step}: {each.text[:24]}" for each in shown]
        axes.set_yticks(rows, [label.replace("$", r"\$") for label in labels])
        axes.invert_yaxis()
        axes.set_xlabel("mean loss of the sample")
        axes.legend(loc="lower right")

    def _text(self, summary: tuple[HighSample, ...]) -> str:
        if not summary:
            return (
                f"{self.title}: none kept; ftlab.watch(..., highest_losses=20) keeps "
                "those of cross entropy over tokens and of TRL's SFT, unless the loss "
                "is compiled"
            )
        lines = [f"{self.title} of single samples: {len(summary)} kept"]
        lines += [f"  {each!r}" for each in summary[:SHOWN]]
        rest = summary[SHOWN:]
        if rest:
            lines.append(f"  {len(rest)} more in .table(), furthest above the usual:")
            lines += [
                f"  {each!r}" for each in sorted(rest, key=_unusualness)[:UNUSUAL]
            ]
        return "\n".join(lines)


def _sample(event: Event) -> HighSample:
    detail = event.detail
    return HighSample(
        event.step,
        detail["micro_batch"],
        detail["sample"],
        detail["loss"],
        detail["tokens"],
        detail["usual"],
        detail["text"] or " ".join(map(str, detail["ids"])),
    )


def _unusualness(each: HighSample) -> tuple[bool, float, int, int, int]:
    """Sort by how far a loss is above the usual one, the farthest first."""
    known = math.isfinite(each.above)
    size = -each.above if known else 0.0
    return not known, size, each.step, each.micro_batch, each.sample


def _badness(each: HighSample) -> tuple[bool, float, int, int, int]:
    finite = math.isfinite(each.loss)
    size = -each.loss if finite else 0.0
    return finite, size, each.step, each.micro_batch, each.sample
