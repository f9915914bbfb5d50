"""A bank's adapters: requests, waits and latencies."""

from __future__ import annotations

import math
from dataclasses import astuple, fields
from typing import TYPE_CHECKING

from ftlab.records.adapter_swap import Arm, Arms
from ftlab.views.style import SERIES, count, latency
from ftlab.views.view import View

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    import pandas as pd
    from matplotlib.figure import Figure, SubFigure


class BankView(View["Arms"]):
    """What requests to each adapter of a bank took until now, which ``read`` returns.

    Examples
    --------
    >>> from ftlab.records.adapter_swap import Arm, Arms
    >>> from ftlab.views.adapters.bank import BankView
    >>> arms = Arms((Arm("math", 1.0, 3, 0, 0.001, 0.002, 0.02),), 1)
    >>> BankView(lambda: arms)
    3 requests, 1 change of the active adapter
      math (100% of keys): 3 requests, 20 ms each; waited 1 ms, at most 2 ms
    """

    title = "Bank"

    def __init__(self, read: Callable[[], Arms]) -> None:
        super().__init__()
        self._read = read

    def headline(self) -> str:
        """Say in one line what was asked."""
        return self._text(self.summary).split("\n")[0]

    def _stamp(self) -> Hashable:
        return repr(self._read())

    def _summarise(self) -> Arms:
        return self._read()

    def _table(self, summary: Arms) -> pd.DataFrame:
        import pandas as pd

        columns = [each.name for each in fields(Arm)]
        return pd.DataFrame([astuple(e) for e in summary.arms], columns=columns)

    def _text(self, summary: Arms) -> str:
        total = sum(each.requests for each in summary.arms)
        changes = f"{count(summary.switches, 'change')} of the active adapter"
        said = f"{count(total, 'request')}, {changes}"
        return "\n  ".join([said, *map(arm_words, summary.arms)])

    def draw_on(self, figure: Figure | SubFigure, summary: Arms) -> None:
        """Draw requests and times by adapter."""
        said = self._text(summary).split("\n")[0]
        figure.suptitle(said, fontsize=9, x=0.01, ha="left")
        left, right = figure.subplots(1, 2, squeeze=False, sharey=True)[0]
        names = [each.adapter or "the base" for each in summary.arms]
        bars = left.barh(names, [e.requests for e in summary.arms], color=SERIES[0])
        left.bar_label(bars, fontsize=7, padding=2)
        asked = [each if each.requests else None for each in summary.arms]
        waits = [1e3 * each.waited if each else 0.0 for each in asked]
        took = [1e3 * each.seconds if each else 0.0 for each in asked]
        right.barh(names, waits, color=SERIES[1], label="waited")
        right.barh(names, took, left=waits, color=SERIES[2], label="took")
        right.legend(fontsize=7)
        left.invert_yaxis()
        for axis, title in ((left, "requests"), (right, "of a request, ms (medians)")):
            axis.set_title(title, fontsize=8.5, loc="left")
            axis.tick_params(labelsize=7)


def arm_words(arm: Arm) -> str:
    """Say what requests to one adapter took."""
    said = arm.adapter or "the base"
    said += "" if math.isnan(arm.share) else f" ({100 * arm.share:.3g}% of keys)"
    said += f": {count(arm.requests, 'request')}"
    if arm.requests:
        said += f", {latency(arm.seconds)} each; waited {latency(arm.waited)}, at most "
        said += latency(arm.waited_most)
    return said + (f"; {arm.failed} failed" if arm.failed else "")
