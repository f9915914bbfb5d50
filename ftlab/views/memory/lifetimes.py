"""The lives of a step's storages: what is alive when, and the largest at the peak."""

import re
from collections.abc import Sequence

import numpy as np

from ftlab.records.memory import BEFORE, CATEGORIES, PHASES, Life, StepMemory
from ftlab.records.sizes import size
from ftlab.views.drawn import Axes, Canvas, DataFrame
from ftlab.views.style import SERIES, count
from ftlab.views.view import View

SHOWN = 8
"""Storages that the text names."""

MIB = 2**20
COLOURS = dict(zip(CATEGORIES, (*SERIES, "#9a9a9a"), strict=True))


class LifetimeView(View[StepMemory]):
    """What is alive at each operation of a step, by category, and the largest of it.

    Parameters
    ----------
    step
        The step.
    measured
        Whether it was executed, or rehearsed without values.

    Examples
    --------
    >>> from ftlab.records.memory import Life, StepMemory
    >>> from ftlab.views.memory.lifetimes import LifetimeView
    >>> lives = (
    ...     Life(4096, -1, 9, "weights", "head.weight", what="float32 (32, 32)"),
    ...     Life(2048, 1, 6, "activations", "aten.mm.default", "head", "loop.py:3 run"),
    ... )
    >>> LifetimeView(StepMemory(lives, (0, 4, 8), 9), measured=True)
    Measured: 6 KiB at the peak, operation 1 of 9, in forward; 2 storages
      4 KiB  weights      float32 (32, 32) head.weight, there before the step
      2 KiB  activations  aten.mm in head, loop.py:3 run, held for 5 operations
    """

    title = "Lifetimes"

    def __init__(self, step: StepMemory, *, measured: bool) -> None:
        super().__init__(step)
        self.step = step
        self.measured = measured

    def headline(self) -> str:
        """Say where the peak is."""
        step = self.step
        return (
            f"{'Measured' if self.measured else 'Predicted'}: {size(step.peak)} at the "
            f"peak, operation {step.peak_at:,} of {step.operations:,}, in "
            f"{step.phase_of(step.peak_at)}; {count(len(step.lives), 'storage')}"
        )

    def _table(self, summary: StepMemory) -> DataFrame:
        """Give each storage that is alive at the peak a row, the largest first."""
        import pandas as pd

        lives, peak = summary.largest(), summary.peak_at
        names = ["bytes", "category", "op", "module", "line", "what"]
        names += ["born", "died", "reads"]
        frame = pd.DataFrame(lives, columns=names)
        frame["stage at the peak"] = [each.stage(peak) for each in lives]
        return frame.rename(columns={"op": "made by", "what": "tensor"})

    def _text(self, summary: StepMemory) -> str:
        groups = _groups(summary.largest())[:SHOWN]
        sizes = [size(sum(each.bytes for each in group)) for group in groups]
        wide = max(map(len, sizes), default=0)
        kinds = max((len(group[0].category) for group in groups), default=0)
        lines = [
            f"  {took:<{wide}}  {group[0].category:<{kinds}}  {_told(group)}"
            for took, group in zip(sizes, groups, strict=True)
        ]
        return "\n".join([self.headline(), *lines])

    def size_of(self, summary: StepMemory) -> tuple[float, float]:
        """Give the legend room."""
        return 9.6, 4.0

    def draw_on(self, figure: Canvas, summary: StepMemory) -> None:
        """Draw what is alive, stacked, with phases and the peak."""
        draw_lives(figure.subplots(), summary)
        figure.suptitle(self.headline(), fontsize=9, x=0.01, ha="left")


def draw_lives(axis: Axes, step: StepMemory, other: StepMemory | None = None) -> None:
    """Stack the live bytes by category; ``other`` is a line over the same phases."""
    live = {each: step.live(each) / MIB for each in CATEGORIES}
    there = {name: values for name, values in live.items() if values.any()}
    at = np.arange(step.operations)
    axis.stackplot(
        at,
        *there.values(),
        labels=list(there),
        colors=[COLOURS[name] for name in there],
        step="post",
        linewidth=0,
    )
    if other is not None:
        scale = step.operations / max(other.operations, 1)
        where = np.arange(other.operations) * scale
        axis.plot(where, other.live() / MIB, "k--", linewidth=0.9, label="predicted")
    peak, top = step.peak_at, step.peak / MIB
    axis.plot([peak], [top], "kv", markersize=6)
    axis.annotate(f" peak {size(step.peak)}", (peak, top), fontsize=8, va="bottom")
    for name, start in zip(PHASES, step.phases, strict=True):
        axis.axvline(start, color="#555555", linewidth=0.7, linestyle=":")
        axis.text(start, 1.12 * top, f" {name}", fontsize=8, va="top")
    axis.set_ylim(0, 1.14 * top or 1)
    axis.set_xlim(0, max(step.operations - 1, 1))
    axis.set_xlabel("operation", fontsize=8)
    axis.set_ylabel("MiB", fontsize=8)
    axis.tick_params(labelsize=7)
    axis.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)


def _groups(lives: Sequence[Life]) -> list[list[Life]]:
    """Put together what differs in numbers of blocks alone, the largest first."""
    found: dict[object, list[Life]] = {}
    for each in lives:
        key = (each.category, _plain(each.op), _plain(each.module), each.what)
        found.setdefault(key, []).append(each)
    return sorted(found.values(), key=lambda group: -sum(e.bytes for e in group))


def _plain(path: str) -> str:
    return re.sub(r"(?<=\.)\d+(?=\.|$)", "*", path)


def _told(group: Sequence[Life]) -> str:
    first = group[0]
    times = f"{len(group)} x " if len(group) > 1 else ""
    what = f"{times}{first.what} " if first.what else times
    if first.born == BEFORE:
        return f"{what}{_plain(first.op)}, there before the step"
    place = f" in {_plain(first.module)}" if first.module else ""
    line = f", {first.line}" if first.line else ""
    held = count(max(e.died - e.born for e in group), "operation")
    return f"{what}{first.op.removesuffix('.default')}{place}{line}, held for {held}"
