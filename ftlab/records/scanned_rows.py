"""What a scan of a dataset has counted, before anybody judges it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ftlab.records.data_scan import Spot


@dataclass(frozen=True, slots=True)
class FoundRows:
    """The rows that have one kind of fault.

    Attributes
    ----------
    name
        Of the kind: ``"empty-answer"``.
    rows
        How many have it.
    spots
        The first places, in the order of the rows.
    held
        Rows of the evaluation data that they repeat, and all of these; ``None`` for
        what has nothing to do with an evaluation.
    """

    name: str
    rows: int
    spots: tuple[Spot, ...] = ()
    held: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class ScannedRows:
    """How many rows there are, and which of them have what.

    Attributes
    ----------
    name
        Of the dataset, or of its file.
    rows
        How many were looked at.
    formats
        By form of row, how many there are.
    found
        What was found, by kind.
    total
        How many rows the dataset has; 0 where nobody knows.

    Examples
    --------
    >>> from ftlab.records.data_scan import Spot
    >>> from ftlab.records.scanned_rows import FoundRows, ScannedRows
    >>> found = FoundRows("empty-answer", 1, (Spot(4, "line 5", "completion"),))
    >>> known = ScannedRows("rows.jsonl", 9, {"prompt and answer": 9}, (found,))
    >>> ScannedRows.from_json(known.as_json()) == known
    True
    >>> known.get("empty-answer").rows, known.get("duplicate-row")
    (1, None)
    """

    name: str
    rows: int
    formats: Mapping[str, int] = field(default_factory=dict)
    found: tuple[FoundRows, ...] = ()
    total: int = 0

    def get(self, name: str) -> FoundRows | None:
        """Return the rows with one kind of fault; ``None`` where no row has it."""
        return next((each for each in self.found if each.name == name), None)

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, read: Mapping[str, Any]) -> "ScannedRows":
        """Make the record out of what `as_json` gave."""
        found = tuple(
            FoundRows(
                each["name"],
                each["rows"],
                tuple(Spot(**spot) for spot in each["spots"]),
                tuple(each["held"]) if each["held"] else None,
            )
            for each in read["found"]
        )
        return cls(read["name"], read["rows"], read["formats"], found, read["total"])
