"""A run against a baseline: the verdict, and the reasons for it."""

from typing import Any

from ftlab.records.outcome import Outcome
from ftlab.runlog.baseline_comparison import verdict_of
from ftlab.views.executions.proof import ProofView


class BaselineView(ProofView):
    """How a run stands against a baseline, quantity by quantity."""

    @property
    def verdict(self) -> str:
        """``"ok"``, ``"worse"``, ``"different"`` or ``"not comparable"``."""
        return verdict_of(tuple(self))

    @property
    def reasons(self) -> tuple[Outcome, ...]:
        """What is worse or different, or cannot be compared."""
        good = ("holds", "does not apply")
        return tuple(each for each in self if each.state not in good)

    def headline(self) -> str:
        """Return the verdict, and what it hangs on."""
        names = ", ".join(each.name for each in self.reasons)
        return self.verdict + (f", because of {names}" if names else "")

    def to_json(self) -> dict[str, Any]:
        """Return verdict and lines as values that JSON can hold."""
        lines = self.table()[["name", "state", "says"]].to_dict("records")
        return {"verdict": self.verdict, "lines": lines}
