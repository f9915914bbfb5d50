"""What the ledger tells of loads during a run, for the rules about them."""

from collections.abc import Iterable, Iterator

from ftlab.records.step import LedgerEntry
from ftlab.runlog.run import Run

WEIGHTS = "model"
"""Target of the entries about weights; those about states name an optimizer, and those
about settings hold factors."""


def loads_of(run: Run) -> list[LedgerEntry]:
    """Return the loads of weights, in order."""
    return [e for e in run.ledger if e.op == "load" and e.target == WEIGHTS]


def optimizer_loads(run: Run) -> list[LedgerEntry]:
    """Return the loads of optimizer states, in order."""
    return [
        e for e in run.ledger if e.op == "load" and e.target.startswith("optimizer ")
    ]


def held_writes(run: Run) -> list[LedgerEntry]:
    """Return the files that got an older state dict's tensors, in order."""
    return [e for e in run.ledger if e.op == "write" and "stale" in e.detail]


def settings_loads(run: Run) -> list[LedgerEntry]:
    """Return the loads of adapters that do not act as their folder says, in order.

    Not where the weights were not read: then no factor is to blame.
    """
    unread = {
        entry.step
        for entry in loads_of(run)
        if entry.detail.get("lost") or entry.detail.get("misshapen")
    }
    return [
        entry
        for entry in run.ledger
        if entry.op == "load" and "scaling" in entry.detail and entry.step not in unread
    ]


def outdated_loads(run: Run) -> Iterator[LedgerEntry]:
    """Yield loads of adapters from a file that lies beside a newer one."""
    yield from (e for e in run.ledger if e.op == "load" and e.detail.get("outdated"))


def lost_loads(run: Run) -> Iterator[LedgerEntry]:
    """Yield loads that left keys unread that the model waits for.

    Not where another load of the same step read what it was given: files in several
    parts, and loaders that try one way and then another. A forward between the two
    used what the first one had left.
    """
    ran = [entry for entry in run.ledger if entry.op == "forward"]
    loads = loads_of(run)
    read = [
        entry
        for entry in loads
        if entry.detail.get("matched") and not entry.detail.get("lost")
    ]
    for entry in loads:
        if entry.detail.get("lost") and not any(
            entry.step == other.step and not _is_between(entry, other, ran)
            for other in read
        ):
            yield entry


def _is_between(
    one: LedgerEntry, two: LedgerEntry, others: Iterable[LedgerEntry]
) -> bool:
    first, last = sorted((one.index, two.index))
    return any(e.step == one.step and first < e.index < last for e in others)


def words_of(entry: LedgerEntry) -> str:
    """Say what was called."""
    adapter = entry.detail.get("adapter")
    return f"PEFT's load of the adapter {adapter!r}" if adapter else "load_state_dict"


def updated_before(run: Run, entry: LedgerEntry) -> bool:
    """Tell whether weights were updated before the load, as far as the ledger goes."""
    places = ((e.step, e.index) for e in run.ledger if e.op == "step")
    return any(place < (entry.step, entry.index) for place in places)
