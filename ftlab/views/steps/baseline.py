"""A run against a baseline: the verdict, and the reasons for it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

from ftlab.runlog.baseline_comparison import verdict_of
from ftlab.views.marked import ASIDE, BAD, GOOD, NOTED, OPEN, MarkedView

if TYPE_CHECKING:
    from ftlab.records.marked import Marked


class BaselineView(MarkedView):
    """How a run stands against a baseline, quantity by quantity.

    Examples
    --------
    >>> from ftlab.records.marked import Marked
    >>> from ftlab.views.steps.baseline import BaselineView
    >>> view = BaselineView([Marked("loss", "worse", "2.5, now 3")])
    >>> view
    Against the baseline: worse, because of loss
    x loss  worse: 2.5, now 3
    >>> view.ok, view.verdict
    (False, 'worse')
    """

    title = "Against the baseline"
    marks: ClassVar = {
        "worse": BAD,
        "not comparable": OPEN,
        "different": NOTED,
        "ok": GOOD,
        "not recorded": ASIDE,
    }

    @property
    def verdict(self) -> str:
        """``"ok"``, ``"worse"``, ``"different"`` or ``"not comparable"``."""
        return verdict_of(self._marked)

    @property
    def ok(self) -> bool:
        """Whether the run is as good as the baseline, and set up as it was."""
        return self.verdict == "ok"

    @property
    def reasons(self) -> tuple[Marked, ...]:
        """What is not ok; what is not recorded is no reason."""
        good = ("ok", "not recorded")
        return tuple(each for each in self._marked if each.state not in good)

    def headline(self) -> str:
        """Return the verdict, and what it hangs on."""
        names = ", ".join(each.name for each in self.reasons)
        return self.verdict + (f", because of {names}" if names else "")

    def to_json(self) -> dict[str, Any]:
        """Return verdict and lines as values that JSON can hold."""
        lines = [
            {
                "name": each.name,
                "state": each.state,
                "says": each.says,
                **{name: _plain(value) for name, value in each.numbers.items()},
            }
            for each in self._marked
        ]
        return {"verdict": self.verdict, "lines": lines}


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
