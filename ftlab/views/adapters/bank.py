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


_TIMES = ("waited", "seconds")


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
        """Draw what a request of each adapter takes."""
        axis = figure.subplots()
        asked = [each for each in summary.arms if each.requests]
        names = [f"{each.adapter or 'the base'} ({each.requests})" for each in asked]
        waits, took = ([1e3 * getattr(e, n) for e in asked] for n in _TIMES)
        axis.barh(names, waits, color=SERIES[1], label="waited")
        axis.barh(names, took, left=waits, color=SERIES[2], label="took")
        axis.set_title(self.headline() + "; ms of each", fontsize=9, loc="left")
        axis.tick_params(labelsize=7)
        axis.legend(fontsize=7)
        axis.invert_yaxis()


def arm_words(arm: Arm) -> str:
    """Say what requests to one adapter took."""
    said = arm.adapter or "the base"
    said += "" if math.isnan(arm.share) else f" ({100 * arm.share:.3g}% of keys)"
    said += f": {count(arm.requests, 'request')}"
    if arm.requests:
        said += f", {latency(arm.seconds)} each; waited {latency(arm.waited)}, at most "
        said += latency(arm.waited_most)
    return said + (f"; {arm.failed} failed" if arm.failed else "")
