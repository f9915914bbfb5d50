"""The step ledger: which operation followed which."""

from collections.abc import Mapping
from typing import Any

from ftlab.records.step import LedgerEntry

CAPACITY = 512
"""Entries kept for one step; what comes after is counted only."""


class Ledger:
    """The operations of one step, in order.

    An operation that repeats the one before it (an evaluation's forwards, a loop that
    clips parameter by parameter) is kept once, with ``times`` in its detail.

    Examples
    --------
    >>> from ftlab.probes.stepping.ledger import Ledger
    >>> ledger = Ledger()
    >>> for _ in range(3):
    ...     entry = ledger.add("forward", "model", mode="eval")
    >>> ledger.records(step=7)[0].detail
    {'mode': 'eval', 'times': 3}
    """

    def __init__(self) -> None:
        self._entries: list[dict[str, Any]] = []
        self.dropped = 0

    def add(self, op: str, target: str = "", **detail: Any) -> dict[str, Any]:
        """Append an operation and return its entry, to be completed later.

        Keys: ``op``, ``target``, ``key`` (the detail as it was passed), ``detail``.
        """
        last = self._entries[-1] if self._entries else None
        if last and (last["op"], last["target"], last["key"]) == (op, target, detail):
            last["detail"]["times"] = last["detail"].get("times", 1) + 1
            return last
        entry = {"op": op, "target": target, "key": detail, "detail": dict(detail)}
        if len(self._entries) < CAPACITY:
            self._entries.append(entry)
        else:
            self.dropped += 1
        return entry

    def records(self, step: int) -> list[LedgerEntry]:
        """Freeze the entries into records."""
        return [
            LedgerEntry(step, index, entry["op"], entry["target"], _plain(entry))
            for index, entry in enumerate(self._entries)
        ]


def _plain(entry: Mapping[str, Any]) -> dict[str, Any]:
    return dict(entry["detail"])
