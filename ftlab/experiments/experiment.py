"""The shape of an experiment: a relation, and how it is tried."""

import abc
from collections.abc import Sequence
from typing import Any, ClassVar

from ftlab.executions.difference import compare
from ftlab.executions.pairs import Pair
from ftlab.experiments.live import Live
from ftlab.records.difference import Born, Differences
from ftlab.records.finding import Place
from ftlab.records.outcome import Outcome, State


class Relation:
    """What holds in every right set-up.

    Attributes
    ----------
    code, name
        ``"EXP001"`` and ``"row-alone"``.
    relation
        What must hold, in one sentence.
    cause, fix
        What it means if it does not, and what to do.
    default
        Whether it is tried without being asked for by name.
    cheap
        Whether it costs a few forwards at most.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    relation: ClassVar[str]
    cause: ClassVar[str]
    fix: ClassVar[str]
    default: ClassVar[bool] = True
    cheap: ClassVar[bool] = False

    def outcome(self, state: State, says: str, **more: Any) -> Outcome:
        """Return how it came out."""
        if state == "broken":
            more = {"cause": self.cause, "fix": self.fix} | more
        return Outcome(self.code, self.name, self.relation, state, says, **more)

    def compared(self, pair: Pair) -> Outcome:
        """Execute a pair, which must be equal."""
        return self.told(compare(pair))

    def told(self, found: Differences) -> Outcome:
        """Return how two executions came out, which must be equal."""
        evidence: dict[str, float | int | str] = {"outputs over floor": found.outcome}
        if found.equal:
            says = f"{_times(found.outcome)} the noise floor at the outputs"
            more = {"evidence": evidence, "differences": found}
            return self.outcome("holds", says, **more)
        born = [each for each in found.born if each.changes is not False]
        return self.outcome(
            "broken",
            said(found, born),
            places=tuple(Place("module", b.module or "the model") for b in born),
            evidence=evidence | {"ratio": born[0].ratio, "relative": born[0].relative},
            differences=found,
        )


class Experiment(Relation, abc.ABC):
    """A relation that is tried on a live step."""

    @abc.abstractmethod
    def run(self, live: Live) -> Outcome:
        """Try the relation.

        Raises
        ------
        NotApplicableError
            It says nothing of this set-up.
        """


def said(found: Differences, born: Sequence[Born]) -> str:
    """Say where two executions part, in one line."""
    first = born[0]
    op = next((op for op in first.ops[::-1] if op), "")
    where = f"{first.module or 'the model'}" + (f", operation {op}" if op else "")
    much = (
        "differs" if first.ratio == float("inf") else f"{_times(first.ratio)} the floor"
    )
    more = f", and {len(born) - 1} more" if len(born) > 1 else ""
    a, b = found.sides
    return f"{a} and {b} part at {where}: {first.tensor}, {much}{more}"


def _times(ratio: float) -> str:
    return f"{ratio:,.0f} x" if ratio >= 1000 else f"{ratio:.3g} x"
