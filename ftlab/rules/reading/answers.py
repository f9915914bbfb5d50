"""What a run's model answered to the prompts of its watch, for the rules about that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ftlab.rules.rule import Need, Run, if_recorded

LATEST = 2
"""Times that a model was asked last: one alone may be an accident."""


@dataclass(frozen=True, slots=True)
class Asked:
    """All answers of one step, and the repetition of the rows that it trains."""

    step: int
    answers: Sequence[Mapping[str, Any]]
    trained: float | None

    def all_of(self, name: str) -> list[float]:
        """Return what is known of a measure, NaN where it is not."""
        values = (each.get(name) for each in self.answers)
        return [float("nan") if value is None else float(value) for value in values]

    @property
    def ended(self) -> float:
        """The share of the answers that ended by themselves."""
        return float(np.mean([bool(each["ended"]) for each in self.answers]))


def asked(run: Run) -> list[Asked]:
    """Return all times that a run's prompts were answered."""
    events = (each for each in run.events if each.kind == "answers")
    return [
        Asked(each.step, each.detail["answers"], each.detail.get("trained"))
        for each in events
    ]


def length_of_a_row(run: Run) -> float:
    """Return the trained tokens of a row, the median over the steps.

    Labels that count, or all tokens but padding where there are no labels; NaN where
    neither is known.
    """
    for name in ("labels", "tokens"):
        with np.errstate(divide="ignore", invalid="ignore"):
            each = run.steps[name] / run.steps["batch_size"]
        known = each[np.isfinite(each)]
        if len(known):
            return float(np.median(known))
    return float("nan")


needs_answers = if_recorded(  # who asks no prompts is not told that none were asked
    Need(
        "what the model answers to fixed prompts while it is trained",
        "ftlab.watch(..., prompts=[...])",
        lambda run: any(each.kind == "answers" for each in run.events),
    )
)
