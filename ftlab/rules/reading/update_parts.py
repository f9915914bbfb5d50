"""What each update was made of: its backwards, and the clippings around it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, takewhile
from typing import Any, TypeVar

from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.cycles import times
from ftlab.rules.rule import Run, needs_operations, only_of

T = TypeVar("T")

SHRUNK = 0.99
"""Factor below which a clipping has changed something."""


@dataclass(slots=True)
class Update:
    """The operations of one step that the scaler did not skip.

    Attributes
    ----------
    backwards
        In order.
    clips
        Clippings between the last backward and the last optimizer's step.
    astray
        Clippings before the first backward, or after the last optimizer's step.
    between
        Clippings by norm before the last backward, of what was not cleared since.
    clipped_each
        Each of these backwards has its own forward, and a clipping by norm after it.
    idle
        Clippings of what had no gradient at all.
    targets
        The optimizers that stepped.
    cleared
        Gradients were cleared between two of the backwards.
    awaited
        One of them stepped while accelerate was still gathering.
    """

    step: int
    backwards: list[LedgerEntry] = field(default_factory=list)
    clips: list[LedgerEntry] = field(default_factory=list)
    astray: list[LedgerEntry] = field(default_factory=list)
    between: list[LedgerEntry] = field(default_factory=list)
    clipped_each: bool = False
    idle: list[LedgerEntry] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    cleared: bool = False
    awaited: bool = False


def may_clip(run: Run) -> bool:
    """Tell whether gradients are clipped, or nothing has been stepped yet."""
    ops = {entry.op for entry in run.ledger}
    return "clip" in ops or "step" not in ops


needs_clipping = only_of(
    may_clip,
    needs_operations("clip", "a clipping of gradients", "let it run for a step"),
)
"""The need of a rule that reads how gradients are clipped."""


def updates_of(run: Run) -> Iterator[Update]:
    """Yield the window's updates that were made from a backward of their own."""
    for step, entries in groupby(run.ledger, key=lambda entry: entry.step):
        update = _update(step, list(entries))
        if update is not None:
            yield update


def _update(step: int, entries: Sequence[LedgerEntry]) -> Update | None:
    places = [i for i, entry in enumerate(entries) if entry.op == "step"]
    backs = [i for i, entry in enumerate(entries) if entry.op == "backward"]
    if not places or not backs or backs[-1] > places[-1]:
        return None
    if any(entry.op == "skip" for entry in entries):
        return None
    update = Update(
        step,
        backwards=[entries[i] for i in backs],
        targets=sorted({entries[i].target for i in places}),
        cleared=any(e.op == "zero_grad" for e in entries[backs[0] : backs[-1]]),
        awaited=any(entries[i].detail.get("accumulating") for i in places),
    )
    for place, entry in enumerate(entries):
        if entry.op != "clip":
            continue
        if entry.detail.get("count") == 0:
            update.idle.append(entry)
        elif backs[-1] < place < places[-1]:
            update.clips.append(entry)
        elif place < backs[0] or place > places[-1]:
            update.astray.append(entry)
    update.between, update.clipped_each = _between(entries[: places[0]])
    return update


def _between(entries: Sequence[LedgerEntry]) -> tuple[list[LedgerEntry], bool]:
    """Return the clippings between backwards, and whether each backward has one."""
    early: list[LedgerEntry] = []
    waiting: list[LedgerEntry] = []
    each, forwarded, backwards = True, False, 0
    for entry in entries:
        if entry.op == "zero_grad":
            early, waiting, each, backwards = [], [], True, 0
        elif entry.op == "clip" and entry.target == "norm":
            waiting, forwarded = [*waiting, entry], False
        elif entry.op == "forward" and entry.detail.get("grad_enabled"):
            forwarded = True
        elif entry.op == "backward":
            each &= not backwards or bool(waiting and forwarded)
            early, waiting, backwards = early + waiting, [], backwards + 1
    return early, each and bool(waiting)


def latest(seen: Sequence[T], is_wrong: Callable[[T], Any], fewest: int = 1) -> list[T]:
    """Return the latest in a row that are wrong, in order, if they are enough."""
    found = [*takewhile(is_wrong, reversed(seen))][::-1]
    return found if len(found) >= fewest else []


def calls(entries: Sequence[LedgerEntry]) -> int:
    """Return how many calls the entries stand for."""
    return sum(map(times, entries))


def limit_of(entry: LedgerEntry) -> float:
    """Return the limit of a clipping; NaN where it is not known."""
    return float(entry.detail.get("max_norm", float("nan")))


def factor_of(entry: LedgerEntry) -> float:
    """Return the factor of a clipping by norm; 1 where it is not known."""
    return float(entry.detail.get("coefficient", 1.0))


def covers_all(entry: LedgerEntry) -> bool:
    """Tell whether one clipping was of all that is trained."""
    return entry.detail.get("count") == entry.detail.get("of")


def by_step(run: Run, column: str) -> dict[int, float]:
    """Return the known values of a column of the steps."""
    table = run.steps
    if column not in table.columns:
        return {}
    known = table.known(column)
    pairs = zip(table.step[known], table[column][known], strict=True)
    return {int(step): float(value) for step, value in pairs}
