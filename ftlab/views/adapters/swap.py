"""Hot swapping: what each operation takes, and whether it changes an output."""

from __future__ import annotations

import statistics
from dataclasses import astuple, fields
from typing import TYPE_CHECKING

from ftlab.records.adapter_swap import Requests, Swap, Swapped
from ftlab.views.adapters.bank import arm_words
from ftlab.views.style import SERIES, SEVERITY, count, latency, number, size
from ftlab.views.view import View

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

OPERATIONS = ("load", "activate", "off", "on", "delete")
SHOWN = 6
"""Adapters that a picture has."""


class SwapView(View["Swapped"]):
    """What hot swapping takes, and where it changes what it should not.

    Examples
    --------
    >>> from ftlab.records.adapter_swap import Swap, Swapped
    >>> from ftlab.views.adapters.swap import SwapView
    >>> one = Swap("load", "math", 0.008, 0.003, 0.002, 4096, 0, 6, 2, "layers.0.q")
    >>> SwapView(Swapped((one,), 3, (), 0, True))
    after load of math the model does not answer as it must: first at layers.0.q \
(2 of 6 answers)
      load: 8 ms, the first forward 3 ms, the next 2 ms, 4 KiB
    """

    title = "Hot swap"

    def __init__(self, swapped: Swapped) -> None:
        super().__init__()
        self.swapped = swapped

    @property
    def equal(self) -> bool:
        """Whether every answer was what it had to be, and nothing is left."""
        one = self.swapped
        right = one.restored and not one.left
        mixed = one.requests is not None and one.requests.mixed
        return right and not mixed and not any(each.unequal for each in one.swaps)

    def headline(self) -> str:
        """Say in one line whether all outputs are what they must be."""
        one = self.swapped
        apart = [each for each in one.swaps if each.unequal]
        if apart:
            first = min(apart, key=lambda each: each.since)
            return (
                f"after {first.operation} of {first.adapter} the model does not answer "
                f"as it must: first at {first.where} ({first.unequal} of "
                f"{count(first.checks, 'answer')})"
            )
        if one.requests and one.requests.mixed:
            return _requests_words(one.requests)
        if not one.restored:
            return "put back as it was found, the model answers something else"
        if one.left:
            return f"{size(one.left)} are left when all adapters are deleted"
        adapters = count(len({each.adapter for each in one.swaps}), "adapter")
        answers = count(sum(each.checks for each in one.swaps), "answer")
        rounds = f"in {count(one.rounds, 'round')}"
        return (
            f"{adapters} swapped {rounds}: {answers}, all as they must be, bit for bit"
        )

    def _stamp(self) -> Hashable:
        return 0

    def _summarise(self) -> Swapped:
        return self.swapped

    def _table(self, summary: Swapped) -> pd.DataFrame:
        import pandas as pd

        columns = [each.name for each in fields(Swap)]
        return pd.DataFrame([astuple(e) for e in summary.swaps], columns=columns)

    def _text(self, summary: Swapped) -> str:
        return "\n  ".join([self.headline(), *self._lines(summary)])

    def _lines(self, summary: Swapped) -> Iterator[str]:
        for operation in OPERATIONS:
            of_it = [each for each in summary.swaps if each.operation == operation]
            if of_it:
                yield _operation_words(operation, of_it)
        if summary.requests is not None:
            yield _requests_words(summary.requests)
            yield from map(arm_words, summary.requests.arms.arms)
        for one, other in summary.alike[:3]:
            yield f"note: {one} and {other} answer alike; no check tells them apart"

    def size_of(self, summary: Swapped) -> tuple[float, float]:
        """Give each adapter a bar in each group."""
        shown = min(len({each.adapter for each in summary.swaps}), SHOWN)
        return 9.6, 2.4 + 0.55 * shown

    def draw_on(self, figure: Figure | SubFigure, summary: Swapped) -> None:
        """Draw what operations and the forwards behind them take, and the memory."""
        colour = "black" if self.equal else SEVERITY["error"]
        figure.suptitle(self.headline(), fontsize=9, x=0.01, ha="left", color=colour)
        axes = figure.subplots(1, 3, squeeze=False, sharey=True)[0]
        times = ("the operation, ms", "the first forward after it, ms")
        _draw_bars(axes[0], summary, times[0], lambda each: 1e3 * each.seconds)
        _draw_bars(axes[1], summary, times[1], lambda each: 1e3 * each.first)
        _draw_bars(axes[2], summary, "memory, KiB", lambda each: each.nbytes / 1024)
        axes[0].set_yticks([i + 0.4 for i in range(len(OPERATIONS))], OPERATIONS)
        axes[0].invert_yaxis()
        axes[1].legend(fontsize=7, loc="lower right")


def _draw_bars(
    axis: Axes, summary: Swapped, title: str, value: Callable[[Swap], float]
) -> None:
    adapters = list(dict.fromkeys(each.adapter for each in summary.swaps))[:SHOWN]
    height = 0.8 / max(len(adapters), 1)
    for at, adapter in enumerate(adapters):
        mine = [each for each in summary.swaps if each.adapter == adapter]
        rows = [OPERATIONS.index(e.operation) + (at + 0.5) * height for e in mine]
        values, colour = [value(each) for each in mine], SERIES[at % len(SERIES)]
        bars = axis.barh(rows, values, height, color=colour, label=adapter)
        words = [number(value(e)) + " unequal" * bool(e.unequal) for e in mine]
        axis.bar_label(bars, words, fontsize=6.5, padding=2)
    axis.margins(x=0.2)
    axis.set_title(title, fontsize=8.5, loc="left")
    axis.tick_params(labelsize=7)


def _operation_words(operation: str, swaps: list[Swap]) -> str:
    names = ("seconds", "first", "second", "nbytes", "cuda")
    seconds, first, second, nbytes, cuda = (
        statistics.median(getattr(each, name) for each in swaps) for name in names
    )
    said = f"{operation}: {latency(seconds)}, the first forward {latency(first)}, "
    said += f"the next {latency(second)}" + (f", {size(nbytes)}" if nbytes else "")
    return said + (f", {size(cuda)} on CUDA" if cuda else "")


def _requests_words(sent: Requests) -> str:
    total = sum(each.requests for each in sent.arms.arms)
    said = f"{count(total, 'request')} from {count(sent.threads, 'thread')} at once: "
    mixed = f"{sent.mixed} not as their adapter alone, {sent.wrong} as another one"
    said += mixed if sent.mixed else "none was answered by a wrong adapter"
    changes = count(sent.arms.switches, "change")
    return f"{said}; {changes} of adapter, routing takes {latency(sent.routing)} each"
