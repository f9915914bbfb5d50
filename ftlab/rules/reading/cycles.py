"""The ledger cut into cycles: what happened from one update attempt to the next."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ftlab.records.step import LedgerEntry
from ftlab.runlog.run import Run


@dataclass(slots=True)
class Cycle:
    """The operations up to and including one update attempt of one optimizer.

    Attributes
    ----------
    step
        The step of the attempt.
    early
        Scheduler steps before the first forward: they follow the update before.
    inside
        Scheduler steps between a forward and the update.
    backwards
        Backward passes.
    whole
        Whether the cycle began with an update, not with the window.
    """

    step: int
    early: list[LedgerEntry] = field(default_factory=list)
    inside: list[LedgerEntry] = field(default_factory=list)
    backwards: int = 0
    whole: bool = True

    @property
    def scheduled(self) -> int:
        """Scheduler steps in the cycle."""
        return sum(times(entry) for entry in (*self.early, *self.inside))


def times(entry: LedgerEntry) -> int:
    """Return how often an entry happened: repetitions are kept once."""
    return int(entry.detail.get("times", 1))


def cycles_of(run: Run, scheduler: str, optimizer: str) -> list[Cycle]:
    """Cut the window's ledger at the update attempts of ``optimizer``.

    An attempt that the scaler skipped ends a cycle like any other.
    """
    entries: Sequence[LedgerEntry] = run.ledger
    found: list[Cycle] = []
    current = Cycle(-1, whole=_starts_run(entries))
    forwarded = False
    for entry in entries:
        if entry.op == "scheduler_step" and entry.target == scheduler:
            (current.inside if forwarded else current.early).append(entry)
        elif entry.op == "forward":
            forwarded = True
        elif entry.op == "backward":
            current.backwards += times(entry)
        elif entry.op in ("step", "skip") and entry.target == optimizer:
            _close(current, entry.step)
            found.append(current)
            current, forwarded = Cycle(-1), False
    return found


def _close(cycle: Cycle, step: int) -> None:
    """End a cycle with the update attempt of ``step``.

    With a closure the forward runs within the update, so what the step before recorded
    after its forward came after its update.
    """
    cycle.step = step
    cycle.early += [entry for entry in cycle.inside if entry.step != step]
    cycle.inside = [entry for entry in cycle.inside if entry.step == step]


def _starts_run(entries: Sequence[LedgerEntry]) -> bool:
    return bool(entries) and entries[0].step == 0
