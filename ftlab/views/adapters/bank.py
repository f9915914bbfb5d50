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
    """What requests to each adapter of a bank took, now.

    Parameters
    ----------
    read
        Returns what was counted until now.

    Examples
    --------
    >>> from ftlab.records.adapter_swap import Arm, Arms
    >>> from ftlab.views.adapters.bank import BankView
    >>> arms = Arms((Arm("math", 1.0, 3, 0, 0.001, 0.002, 0.02, 0.03),), 1)
    >>> BankView(lambda: arms)
    3 requests, 1 change of the active adapter
      math: 3 requests (share 100%), 20 ms each, 95 % within 30 ms; waited 1 ms, at \
most 2 ms
    """

    title = "Bank"

    def __init__(self, read: Callable[[], Arms]) -> None:
        super().__init__()
        self._read = read

    def headline(self) -> str:
        """Say in one line what was asked."""
        return self._headline(self.summary)

    def _headline(self, summary: Arms) -> str:
        total = sum(each.requests for each in summary.arms)
        failed = sum(each.failed for each in summary.arms)
        changes = count(summary.switches, "change")
        said = f"{count(total, 'request')}, {changes} of the active adapter"
        return said + (f", {failed} failed" if failed else "")

    def _stamp(self) -> Hashable:
        now = self._read()
        return tuple((each.requests, each.failed) for each in now.arms), now.switches

    def _summarise(self) -> Arms:
        return self._read()

    def _table(self, summary: Arms) -> pd.DataFrame:
        import pandas as pd

        columns = [each.name for each in fields(Arm)]
        return pd.DataFrame([astuple(e) for e in summary.arms], columns=columns)

    def _text(self, summary: Arms) -> str:
        return "\n  ".join([self._headline(summary), *map(arm_words, summary.arms)])

    def draw_on(self, figure: Figure | SubFigure, summary: Arms) -> None:
        """Draw requests and times by adapter."""
        figure.suptitle(self._headline(summary), fontsize=9, x=0.01, ha="left")
        left, right = figure.subplots(1, 2, squeeze=False, sharey=True)[0]
        names = [each.adapter or "the base" for each in summary.arms]
        bars = left.barh(
            names, [each.requests for each in summary.arms], color=SERIES[0]
        )
        left.bar_label(bars, fontsize=7, padding=2)
        waits = [_ms(each.waited) for each in summary.arms]
        took = [_ms(each.seconds) for each in summary.arms]
        right.barh(names, waits, color=SERIES[1], label="waited")
        right.barh(names, took, left=waits, color=SERIES[2], label="took")
        right.legend(fontsize=7)
        left.invert_yaxis()
        for axis, title in ((left, "requests"), (right, "of a request, ms (medians)")):
            axis.set_title(title, fontsize=8.5, loc="left")
            axis.tick_params(labelsize=7)


def arm_words(arm: Arm) -> str:
    """Say what requests to one adapter took."""
    name = arm.adapter or "the base"
    said = f"{name}: {count(arm.requests, 'request')}"
    if not math.isnan(arm.share):
        said += f" (share {100 * arm.share:.3g}%)"
    if arm.requests:
        said += (
            f", {latency(arm.seconds)} each, 95 % within {latency(arm.seconds_95)}; "
            f"waited {latency(arm.waited)}, at most {latency(arm.waited_most)}"
        )
    return said + (f"; {arm.failed} failed" if arm.failed else "")


def _ms(seconds: float) -> float:
    return 0.0 if math.isnan(seconds) else 1e3 * seconds
