"""Answers that are their input again, where all others to the instruction are not.

What is corrected, or copied on purpose, is so by its instruction: each is judged apart.
"""

from dataclasses import dataclass, field

from ftlab.probes.data.across.echoes import ALIKE, are_alike, is_sentence
from ftlab.probes.data.rows.parts import RowParts

KNOWN = 1000
"""Instructions that are told apart: those that come first."""

FEWEST, MOST = 10, 0.3
"""Other rows of an instruction, and share of its rows above which copies are meant."""

FIRST, STEP = 100, 16
"""Rows of an instruction that are all compared, and which of those behind them."""

LONG = 100
"""Characters of an input that need be no sentence: code, a table."""

KEPT = 1000
"""Rows of an instruction that are kept."""


@dataclass(slots=True)
class _Asked:
    """The rows of one instruction."""

    others: int = 0
    looked: int = 0
    alike: int = 0
    same: list[int] = field(default_factory=list)


class InstructedEchoes:
    """Watches rows of an instruction, an input and an output.

    Examples
    --------
    >>> from ftlab.probes.data.across.instructed_echoes import InstructedEchoes
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> echoes = InstructedEchoes()
    >>> for at in range(20):
    ...     text = f"It is a bridge over the river {at}."
    ...     row = {"input": text, "output": text if at == 7 else text[::-1]}
    ...     echoes.look(at, parts_of({"instruction": "Turn it round."} | row))
    >>> echoes.found()
    [7]
    """

    def __init__(self) -> None:
        self._asked: dict[int, _Asked] = {}

    def look(self, number: int, read: RowParts) -> None:
        """Take a row in."""
        if read.kind != "prompt and answer" or len(read.parts) != 3:
            return
        asked, given, answer = read.parts
        if given.column != "input" or not given.text or given.text.isspace():
            return
        key = hash(asked.text)
        known = self._asked.get(key)
        if known is None:
            if len(self._asked) >= KNOWN:
                return
            known = self._asked[key] = _Asked()
        source, said = given.text.strip(), answer.text.strip()
        if source != said:
            known.others += 1
            if known.others <= FIRST or known.others % STEP == 0:
                known.looked += 1
                known.alike += are_alike(source, said)
        elif len(known.same) < KEPT and (len(source) >= LONG or is_sentence(source)):
            known.same.append(number)

    def found(self) -> list[int]:
        """Return the rows whose answer is their input."""
        rows = []
        for known in self._asked.values():
            meant = known.alike > ALIKE * known.looked or known.others < FEWEST
            if not meant and len(known.same) <= MOST * (known.others + len(known.same)):
                rows += known.same
        return sorted(rows)
