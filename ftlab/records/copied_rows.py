"""Rows of one micro-batch that are the same row."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class CopiedRows:
    """How many rows of a micro-batch are different.

    Attributes
    ----------
    micro_batch
        Its number in the step.
    rows, different
        Rows that were looked at, and how many different ones: ids and labels count,
        padding does not.
    first, again
        The first row that comes again, and where; -1 where none does.
    content
        A number that is the same for batches of the same rows.
    """

    micro_batch: int
    rows: int
    different: int
    first: int
    again: int
    content: int

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, read: Mapping[str, Any]) -> "CopiedRows":
        """Return what `as_json` wrote.

        Examples
        --------
        >>> from ftlab.records.copied_rows import CopiedRows
        >>> copied = CopiedRows(0, 8, 1, 0, 1, 77)
        >>> CopiedRows.from_json(copied.as_json()) == copied
        True
        """
        return cls(**read)
