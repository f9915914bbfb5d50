"""The shape of a rule, and how it says what it needs.

A rule is a pure function of a run: it reads and yields. What it needs is declared in
``requires``; the engine turns an unmet need into *not checked*, with what to record
next time. What turns out to be undecidable on the way a rule yields itself, made by
`Rule.cannot_tell`. Runs and findings can be imported from here too.
"""

import abc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NotRequired, TypedDict, Unpack

from ftlab.records.checklist import Layer
from ftlab.records.class_names import class_words
from ftlab.records.finding import (
    Finding as Finding,
    NotChecked as NotChecked,
    Place as Place,
    PlaceKind,
    Severity as Severity,
)
from ftlab.runlog.run import Run as Run

Status = Literal["preview", "stable", "deprecated", "removed"]
Area = Literal[
    "data",
    "model",
    "optimizer",
    "gradient",
    "adapter",
    "numeric",
    "memory",
    "ranks",
    "environment",
    "time",
]

MAX_PLACES = 512
"""Places that a finding keeps: all tensors of LoRA on every linear layer of 32 layers.

How many there are altogether stands in its evidence.
"""

STANDARD = "ftlab.watch(...) with its standard probes"
"""How most of what a rule needs is recorded."""

ANY = "*"
"""Among the causes of a rule: any other finding that is an error."""


@dataclass(frozen=True, slots=True)
class Need:
    """Something without which a rule cannot decide.

    Attributes
    ----------
    what
        What is needed, in words: "the gradient norm of every tensor".
    record
        What to do next time, as a call or an option that can be typed.
    present
        Whether a run has it.
    absent
        Whether the run is known to be of a kind that never has it: rules that need it
        are then left out, not *not checked*.
    """

    what: str
    record: str
    present: Callable[[Run], bool]
    absent: Callable[[Run], bool] = lambda _: False


def needs_column(
    column: str, what: str, record: str = STANDARD, table: str = "tensors"
) -> Need:
    """Need a column of a block table, measured at one step at least."""
    return Need(what, record, lambda run: column in run.columns(table))


def needs_if_recorded(
    column: str, what: str, record: str = STANDARD, table: str = "tensors"
) -> Need:
    """Need a column that few runs have: a rule is left out of those without it."""
    return if_recorded(needs_column(column, what, record, table))


def if_recorded(need: Need) -> Need:
    """Leave a rule out of runs that have steps and lack this."""
    return only_of(lambda run: run.last_step < 0 or need.present(run), need)


def only_of(kind: Callable[[Run], bool], need: Need) -> Need:
    """Leave a rule out of runs that are known to be of another kind."""
    return replace(need, absent=lambda run: not kind(run))


def either(need: Need, other: Need) -> Need:
    """Need one of two; the first is what is asked for."""
    return replace(need, present=lambda run: need.present(run) or other.present(run))


def needs_step_values(column: str, what: str, record: str = STANDARD) -> Need:
    """Need a column of the steps, measured at one step at least."""

    def present(run: Run) -> bool:
        return column in run.steps.columns and bool(run.steps.known(column).any())

    return Need(what, record, present)


def needs_steps_if_recorded(column: str, what: str, record: str = STANDARD) -> Need:
    """Need a column of the steps; a rule is left out of runs that have none of it."""
    need = needs_step_values(column, what, record)
    return only_of(lambda run: not len(run.steps) or column in run.steps.columns, need)


def needs_facts(part: str, what: str, record: str) -> Need:
    """Need a part of the facts: ``"model"``, ``"optimizers"``, ..."""
    return Need(what, record, lambda run: bool(getattr(run.facts, part)))


def needs_operations(op: str, what: str, record: str) -> Need:
    """Need an operation in the step ledger: ``"scheduler_step"``, ``"backward"``..."""
    return Need(what, record, lambda run: any(row.op == op for row in run.ledger))


def to_runs_with(kind: Callable[[Run], bool]) -> "Callable[[Rule, Run], bool]":
    """Make the ``applies`` of a rule: runs of this kind, and those not known yet."""
    return lambda _, run: not run.facts.model or kind(run)


Places = Sequence[Place] | Mapping[PlaceKind, str | Iterable[str]]
"""Places one by one, or by kind: what each of them is called, in this order."""


class Told(TypedDict):
    """What a finding says beside its message.

    ``steps`` are the first and the last; the ``reason`` is the first of the evidence.
    """

    cause: str
    fix: str
    places: Places
    steps: tuple[int, int]
    reason: NotRequired[str]
    evidence: NotRequired[Mapping[str, float | int | str]]
    healthy: str


Needs = Need | tuple[Need, ...]
"""One need, or several."""

Results = Iterator[Finding | NotChecked]
"""What the check of a rule yields."""


class Rule(abc.ABC):
    """One way in which a run goes wrong.

    Attributes
    ----------
    code, name
        ``"GRD001"`` and ``"vanishing-gradient"``: the fault's name, never the cure's;
        it is the class's.
    since
        The version of ftlab that brought the rule.
    status
        Whether it is in preview, stable, deprecated or removed.
    requires
        What a run must hold for the rule to decide: one need, or several.
    caused_by
        Codes of rules, the likeliest first, whose finding at one of the same places is
        the cause of this rule's finding: it is told above, and this one as following.
        Those of experiments may stand among them, wherever their relation is broken.
        A module is the place of its parameters too, and a finding that names settings
        alone is about all of the run.
        `ANY` among them stands for every error, wherever it is: for a symptom of the
        run as a whole.
    layer
        Where it stands in a checklist; ``None`` for the layer of its area, see
        `ftlab.rules.layers`.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    since: ClassVar[str] = "0.1.0"
    status: ClassVar[Status] = "preview"
    requires: ClassVar[Needs] = ()
    caused_by: ClassVar[tuple[str, ...]] = ()
    layer: ClassVar[Layer | None] = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.name = vars(cls).get("name", class_words(cls, "-"))

    @abc.abstractmethod
    def check(self, run: Run) -> Results:
        """Yield what the run, or a window of it, proves."""

    def applies(self, run: Run, /) -> bool:
        """Tell whether the run has what the rule is about; else it is left out.

        Only what is known to be absent does not apply: a model without adapters. What
        was not recorded is an unmet need, and *not checked*.
        """
        return True

    @property
    def needs(self) -> tuple[Need, ...]:
        """What the rule requires, however many needs that are."""
        return (self.requires,) if isinstance(self.requires, Need) else self.requires

    def missing(self, run: Run) -> NotChecked | None:
        """Return the first unmet need as *not checked*, or ``None``."""
        unmet = (need for need in self.needs if not need.present(run))
        return next(map(self.lacks, unmet), None)

    def lacks(self, need: Need) -> NotChecked:
        """Say that the rule could not decide without what it needs."""
        return self.cannot_tell(f"the run does not contain {need.what}", need.record)

    def cannot_tell(self, reason: str, record: str) -> NotChecked:
        """Say that the rule could not decide, and what would let it."""
        return NotChecked(self.code, self.name, reason, record)

    def finding(
        self, severity: Severity, message: str, **told: Unpack[Told]
    ) -> Finding:
        """Make a finding of this rule, where its severity depends on the run."""
        reason = {"reason": told["reason"]} if "reason" in told else {}
        return Finding(
            code=self.code,
            name=self.name,
            severity=severity,
            message=message,
            cause=told["cause"],
            fix=told["fix"],
            places=_listed(told["places"])[:MAX_PLACES],
            first_step=int(told["steps"][0]),
            last_step=int(told["steps"][1]),
            evidence={**reason, **told.get("evidence", {})},
            healthy=told["healthy"],
        )

    def error(self, message: str, **told: Unpack[Told]) -> Finding:
        """Make a finding of what spoils the training."""
        return self.finding(Severity.ERROR, message, **told)

    def warning(self, message: str, **told: Unpack[Told]) -> Finding:
        """Make a finding of what harms the training, or soon will."""
        return self.finding(Severity.WARNING, message, **told)

    def note(self, message: str, **told: Unpack[Told]) -> Finding:
        """Make a finding of what may be meant, or harms little."""
        return self.finding(Severity.INFO, message, **told)


def _listed(places: Places) -> tuple[Place, ...]:
    if not isinstance(places, Mapping):
        return tuple(places)
    named = (
        (kind, [names] if isinstance(names, str) else names)
        for kind, names in places.items()
    )
    return tuple(Place(kind, name) for kind, names in named for name in names)
