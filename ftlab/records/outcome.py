"""How an experiment came out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from ftlab.records.difference import Differences
from ftlab.records.finding import Finding, Place, Severity

State = Literal["holds", "broken", "does not apply", "cannot be decided"]
STATES: tuple[State, ...] = get_args(State)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one experiment.

    Attributes
    ----------
    code, name
        Those of the experiment.
    relation
        What must hold, in one sentence.
    state
        How it came out.
    says
        What was measured, or why it does not apply or cannot be decided.
    cause, fix
        Of a broken relation: what it means, and what to do.
    places
        Where it is broken, the place to look at first in front.
    evidence
        What was measured, by name.
    differences
        The two executions, where they were compared module by module.
    """

    code: str
    name: str
    relation: str
    state: State
    says: str
    cause: str = ""
    fix: str = ""
    places: tuple[Place, ...] = ()
    evidence: Mapping[str, float | int | str] = field(default_factory=dict)
    differences: Differences | None = None

    @property
    def finding(self) -> Finding | None:
        """A broken relation as a finding like all others; ``None`` if it is not."""
        if self.state != "broken":
            return None
        return Finding(
            self.code,
            self.name,
            Severity.ERROR,
            self.says,
            self.cause,
            self.fix,
            self.places or (Place("object", "the step"),),
            0,
            0,
            self.evidence,
            healthy=self.relation,
        )
