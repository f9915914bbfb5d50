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
    from collections.abc import Hashable, Iterator

    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

OPERATIONS = ("load", "activate", "off", "on", "delete")
SHOWN = 6
"""Adapters that a picture has."""


class SwapView(View["Swapped"]):
    """What hot swapping takes, and where it changes what it should not.

    Attributes
    ----------
    swapped
        All that was measured.

    Examples
    --------
    >>> from ftlab.records.adapter_swap import Swap, Swapped
    >>> from ftlab.views.adapters.swap import SwapView
    >>> one = Swap("load", "math", 0.008, 0.003, 0.002, 4096, 0, 6, 2, "layers.0.q")
    >>> SwapView(Swapped((one,), 3, 0.002, (), 0, True))
    after load of math the model does not answer as it must: first at layers.0.q \
(2 of 6 checks); 2 of 6 in all
      load: 8 ms, then a forward of 3 ms (2 ms behind it; 2 ms without adapters), 4 KiB
    """

    title = "Hot swap"

    def __init__(self, swapped: Swapped) -> None:
        super().__init__()
        self.swapped = swapped

    @property
    def equal(self) -> bool:
        """Whether every answer was what it had to be, and nothing is left."""
        one = self.swapped
        sent = one.requests
        right = one.restored and not one.left and not (sent and sent.mixed)
        return right and not any(each.unequal for each in one.swaps)

    def headline(self) -> str:
        """Say in one line whether all outputs are what they must be."""
        one = self.swapped
        checks = sum(each.checks for each in one.swaps)
        unequal = sum(each.unequal for each in one.swaps)
        apart = [each for each in one.swaps if each.unequal]
        if apart:
            parted = min(apart, key=lambda each: each.since)
            return (
                f"after {parted.operation} of {parted.adapter} the model does not "
                f"answer as it must: first at {parted.where} ({parted.unequal} of "
                f"{count(parted.checks, 'check')}); {unequal} of {checks} in all"
            )
        if one.requests and one.requests.mixed:
            return _requests_words(one.requests)
        if not one.restored:
            return "put back as it was found, the model answers something else"
        if one.left:
            return f"{size(one.left)} are left when all adapters are deleted"
        adapters = {each.adapter for each in one.swaps}
        return (
            f"{count(len(adapters), 'adapter')} swapped {one.rounds} times: all of "
            f"{count(checks, 'answer')} as they must be, bit for bit"
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
                yield _operation_words(operation, of_it, summary.plain)
        if summary.requests is not None:
            said = _requests_words(summary.requests)
            if said != self.headline():
                yield said
            yield from map(arm_words, summary.requests.arms.arms)
        for one, other in summary.alike[:3]:
            yield (
                f"note: {one} and {other} answer this batch alike, so no check tells "
                "them apart"
            )

    def size_of(self, summary: Swapped) -> tuple[float, float]:
        """Give each adapter a bar in each group."""
        shown = min(len({each.adapter for each in summary.swaps}), SHOWN)
        return 9.6, 2.4 + 0.55 * shown

    def draw_on(self, figure: Figure | SubFigure, summary: Swapped) -> None:
        """Draw what operations and the forwards behind them take, and the memory."""
        colour = "black" if self.equal else SEVERITY["error"]
        figure.suptitle(self.headline(), fontsize=9, x=0.01, ha="left", color=colour)
        axes = figure.subplots(1, 3, squeeze=False, sharey=True)[0]
        adapters = list(dict.fromkeys(each.adapter for each in summary.swaps))[:SHOWN]
        height = 0.8 / max(len(adapters), 1)
        panels = (
            ("the operation, ms", lambda each: 1e3 * each.seconds),
            ("the first forward after it, ms", lambda each: 1e3 * each.first),
            ("memory, KiB", lambda each: each.nbytes / 1024),
        )
        for axis, (title, value) in zip(axes, panels, strict=True):
            for at, adapter in enumerate(adapters):
                mine = [each for each in summary.swaps if each.adapter == adapter]
                rows = [OPERATIONS.index(each.operation) + at * height for each in mine]
                axis.barh(
                    rows,
                    [value(each) for each in mine],
                    height,
                    align="edge",
                    color=SERIES[at % len(SERIES)],
                    label=adapter,
                )
                for row, each in zip(rows, mine, strict=True):
                    text = number(value(each)) + (" unequal" if each.unequal else "")
                    end = max(value(each), 0.0)
                    axis.annotate(
                        text,
                        (end, row + height / 2),
                        xytext=(2, 0),
                        textcoords="offset points",
                        va="center",
                        fontsize=6.5,
                    )
            axis.margins(x=0.2)
            axis.set_title(title, fontsize=8.5, loc="left")
            axis.tick_params(labelsize=7)
        axes[0].set_yticks([i + 0.4 for i in range(len(OPERATIONS))], OPERATIONS)
        axes[0].invert_yaxis()
        axes[1].axvline(
            1e3 * summary.plain,
            color="#808080",
            ls="--",
            lw=1,
            label="without adapters",
        )
        axes[1].legend(fontsize=7, loc="lower right")


def _operation_words(operation: str, swaps: list[Swap], plain: float) -> str:
    middle = {
        name: statistics.median(getattr(each, name) for each in swaps)
        for name in ("seconds", "first", "second", "nbytes", "cuda")
    }
    said = (
        f"{operation}: {latency(middle['seconds'])}, then a forward of "
        f"{latency(middle['first'])} ({latency(middle['second'])} behind it; "
        f"{latency(plain)} without adapters)"
    )
    if middle["nbytes"]:
        said += f", {size(middle['nbytes'])}"
    return said + (f", {size(middle['cuda'])} on CUDA" if middle["cuda"] else "")


def _requests_words(sent: Requests) -> str:
    total = sum(each.requests for each in sent.arms.arms)
    said = f"{count(total, 'request')} from {count(sent.threads, 'thread')} at once: "
    if sent.mixed:
        said += (
            f"{sent.mixed} not answered as their adapter alone does, {sent.wrong} of "
            "them as another one does"
        )
    else:
        said += "none was answered by a wrong adapter"
    changes = f"{count(sent.arms.switches, 'change')} of the active adapter"
    return f"{said}; {changes}, routing takes {latency(sent.routing)} each"
