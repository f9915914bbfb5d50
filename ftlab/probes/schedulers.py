"""Which schedulers move the learning rates of the watched model."""

from typing import Any

from ftlab.probes.ledger import Ledger
from ftlab.probes.optimizers import Optimizers
from ftlab.probes.subject import Subject


class Schedulers:
    """The subject's schedulers, in the order in which they became known.

    One that steps and moves the rates of a known optimizer is adopted.
    """

    def __init__(self, subject: Subject, optimizers: Optimizers) -> None:
        self._subject = subject
        self._optimizers = optimizers
        # Accelerate's wrapper leaves steps out: what is seen is the one within it.
        inner = [vars(each).get("scheduler", each) for each in subject.schedulers]
        subject.schedulers[:] = inner

    def index(self, scheduler: Any) -> int | None:
        """Return the scheduler's index; ``None`` when it is of another model."""
        mine = self._optimizers.index(scheduler.optimizer) is not None
        known = self._subject.schedulers
        for index, each in enumerate(known):
            if each is scheduler:
                return index
        if not mine:
            return None
        known.append(scheduler)
        return len(known) - 1

    def note(self, ledger: Ledger, scheduler: Any, before: Any, after: Any) -> None:
        """Note a step of a scheduler of ours: the rates, and which step it was."""
        index = self.index(scheduler)
        if index is not None:
            rates = {"lr_before": list(before), "lr_after": list(after)}
            at: dict[str, Any] = {"epoch": getattr(scheduler, "last_epoch", None)}
            if isinstance(best := getattr(scheduler, "best", None), float):
                at["best"] = best  # of ReduceLROnPlateau: the metric that it was given
            ledger.add("scheduler_step", f"scheduler {index}", **rates, **at)
