"""Which schedulers move the learning rates of the watched model."""

from typing import Any

from ftlab.probes.optimizer.optimizer_facts import scheduler_facts
from ftlab.probes.optimizer.optimizers import Optimizers
from ftlab.probes.stepping.open_step import OpenStep
from ftlab.probes.subject import Subject

METRIC = "plateau_metric"
"""What ReduceLROnPlateau was given after a step."""


class Schedulers:
    """The subject's schedulers, in the order in which they became known.

    One that steps and moves the rates of a known optimizer is adopted.
    """

    def __init__(self, subject: Subject, optimizers: Optimizers) -> None:
        self._subject = subject
        self._optimizers = optimizers

    def index(self, scheduler: Any) -> int | None:
        """Return the scheduler's index; ``None`` when it is of another model."""
        mine = self._optimizers.index(scheduler.optimizer) is not None
        known = self._subject.scheduler_number(scheduler)
        if known is not None or not mine:
            return known
        all_of_them = (*self._subject.schedulers, scheduler)
        *_, facts = scheduler_facts(all_of_them, self._subject.optimizers)
        return self._subject.add_scheduler(scheduler, facts)

    def note(
        self,
        step: OpenStep,
        scheduler: Any,
        before: Any,
        after: Any,
        metric: float | None,
    ) -> None:
        """Note a step of a scheduler of ours: the rates, and which step it was."""
        index = self.index(scheduler)
        if index is not None:
            rates = {"lr_before": list(before), "lr_after": list(after)}
            at: dict[str, Any] = {"epoch": getattr(scheduler, "last_epoch", None)}
            if isinstance(best := getattr(scheduler, "best", None), float):
                at["best"] = best  # of ReduceLROnPlateau, among what it was given
                if metric is not None:
                    step.values[METRIC] = metric
            step.ledger.add("scheduler_step", f"scheduler {index}", **rates, **at)
