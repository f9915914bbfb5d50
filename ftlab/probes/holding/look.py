"""What a survey leaves behind: numbers that keep nothing alive."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ftlab.records.holding import Path


@dataclass(slots=True)
class Held:
    """What lies at one path.

    Attributes
    ----------
    bytes
        Of storages, arrays and texts that were not met on a shorter way.
    count
        How many things there are.
    what
        ``"graph"``, ``"tensor"``, ``"array"``, ``"text"`` or ``"objects"``.
    first, position
        Where the walk has met the first and the last of them; a list is met from its
        end.
    """

    bytes: int = 0
    count: int = 0
    what: str = "objects"
    first: int = -1
    position: int = -1


@dataclass(frozen=True, slots=True)
class Look:
    """What a survey has seen at a step.

    Attributes
    ----------
    held
        What lies at each path.
    unreached
        Bytes of tensors that the collector knows and no name reaches, by ``id``.
    known
        The ``id`` of the type of all that was met, by its own.
    elements
        Of the batch before: what a loop still holds of it is as large as that.
    """

    step: int
    held: Mapping[Path, Held]
    unreached: Mapping[int, int]
    known: Mapping[int, int]
    elements: int = 0

    @property
    def bytes(self) -> int:
        """Of all that names reach."""
        return sum(each.bytes for each in self.held.values())


Looks = Sequence[Look]
