"""Updates whose gradients were unscaled after the scaler had chosen another scale."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.update_parts import by_step
from ftlab.runlog.run import Run


@dataclass(slots=True)
class Rescaled:
    """Updates made after ``scaler.update`` from gradients of before it, by step.

    Attributes
    ----------
    found
        All of them.
    changed
        Those of them before which the scale changed: the last step's scale, and the one
        that its gradients were divided by.
    twice
        Those whose gradients had been unscaled before, and so were unscaled again.
    """

    found: list[int] = field(default_factory=list)
    changed: dict[int, tuple[float, float]] = field(default_factory=dict)
    twice: list[int] = field(default_factory=list)


def rescaled_updates(run: Run) -> Rescaled:
    """Find the window's updates that came after an update of their scale."""
    told, scales = Rescaled(), by_step(run, "loss_scale")
    for step, entries in groupby(run.ledger, key=lambda entry: entry.step):
        _see(told, step, list(entries), scales.get(step))
    return told


def _see(
    told: Rescaled, step: int, entries: Sequence[LedgerEntry], scale: float | None
) -> None:
    """Add one step; a ``scaler_update`` makes torch forget who was unscaled."""
    now, unscaled, forgotten = scale, set[str](), set[str]()
    late = [e for e in entries if e.op == "step" and e.detail.get("rescaled")]
    if not late:
        return
    told.found.append(step)
    for entry in entries:
        if entry.op == "backward":
            unscaled, forgotten = set(), set()
        elif entry.op == "unscale" and not entry.detail.get("by_step"):
            unscaled.add(entry.target)
        elif entry.op == "scaler_update":
            now = entry.detail.get("scale", now)
            forgotten |= unscaled
        elif entry in late and entry.target in forgotten:
            told.twice.append(step)
        elif entry in late and scale is not None and now is not None and now != scale:
            told.changed[step] = scale, now
