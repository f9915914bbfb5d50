"""What the ids of some rows have in common, where a narrow type has held them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Residue:
    """A token that none of the samples holds, and what is left of its id in 16 bits.

    Attributes
    ----------
    id, left
        The id, and the id modulo 65,536.
    samples
        Samples that begin or end with ``left``.
    """

    id: int
    left: int
    samples: int


@dataclass(frozen=True, slots=True)
class IdFacts:
    """The ids of the samples of one step.

    Attributes
    ----------
    size
        Entries of the tokenizer's vocabulary; 0 where it is not known.
    tokens, largest
        How many ids there are, and the greatest.
    beyond
        Different ids that a type of so many significant bits cannot tell from their
        neighbours, by bits: 8 (bfloat16) and 11 (float16).
    kept
        Those of ``beyond`` that the type holds exactly.
    broken
        Characters that could not be decoded, where all ids are below 256.
    residues
        Of tokens that begin or end texts, where none of them is among the ids.
    place
        Micro-batch, row and position of the first id that tells.
    """

    size: int
    tokens: int
    largest: int
    beyond: Mapping[int, int]
    kept: Mapping[int, int]
    broken: int = 0
    residues: tuple[Residue, ...] = ()
    place: tuple[int, int, int] = (0, 0, 0)

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, read: Mapping[str, Any]) -> "IdFacts":
        """Return the facts that `as_json` wrote.

        Examples
        --------
        >>> from ftlab.records.id_facts import IdFacts
        >>> facts = IdFacts(900, 64, 255, {8: 0}, {8: 0}, broken=9)
        >>> IdFacts.from_json(facts.as_json()) == facts
        True
        """
        micro, row, position = read["place"]
        return cls(
            **{
                **read,
                "beyond": {int(bits): n for bits, n in read["beyond"].items()},
                "kept": {int(bits): n for bits, n in read["kept"].items()},
                "residues": tuple(Residue(**each) for each in read["residues"]),
                "place": (micro, row, position),
            }
        )
