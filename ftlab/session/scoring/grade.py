"""Compare what was found in one case with what the gallery expects."""

import contextlib
import dataclasses
import io
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from ftlab.faults.builders.trainers import end_after
from ftlab.faults.fault import Case, Fault, Healthy
from ftlab.faults.variation import PLAIN, Variation
from ftlab.records.errors import FtlabWarning
from ftlab.records.finding import Finding, Severity
from ftlab.rules.rule import Rule
from ftlab.session.scoring.record import EACH_STEP, Watched, watch_case


@dataclass(frozen=True, slots=True)
class Grade:
    """How well one fault was found.

    Attributes
    ----------
    id, area, code
        Of the fault; ``code`` is what must find it.
    seed
        Of the variation that it was built in.
    found
        Whether its rule, or one that may say something too, has spoken.
    right_cause
        Whether its rule stands at the top of the report.
    right_place
        Whether the first place of its rule's finding is, in its whole length, one that
        the gallery accepts.
    any_place
        Whether any of the places of its finding is.
    steps
        Optimizer steps from the first evidence until the rule spoke; ``None`` when it
        never did.
    seconds
        How long it took to run and judge the fault and its twin.
    codes
        All codes found, in the order of the report.
    place
        The first place that its rule named, or the first rule's.
    wrong
        Codes that say something else, as a warning or worse; not what is told as
        following from a right one.
    twin
        Codes of alarms, warnings or worse, on the healthy twin.
    """

    id: str
    area: str
    code: str
    seed: int
    found: bool
    right_cause: bool
    right_place: bool
    any_place: bool
    steps: int | None
    seconds: float
    codes: tuple[str, ...]
    place: str
    wrong: tuple[str, ...]
    twin: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the grade as values that JSON can hold."""
        return dataclasses.asdict(self)


@dataclass(frozen=True, slots=True)
class Quiet:
    """What was said of one healthy run: nothing, if all is well.

    Attributes
    ----------
    id, seed
        Of the run and of the variation that it was built in.
    steps
        Optimizer steps that were watched.
    alarms
        Codes of warnings or worse.
    seconds
        How long it took.
    """

    id: str
    seed: int
    steps: int
    alarms: tuple[str, ...]
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return the entry as values that JSON can hold."""
        return dataclasses.asdict(self)


def grade(
    fault: Fault,
    *,
    rules: Sequence[Rule] | None = None,
    variation: Variation = PLAIN,
    budget: float | None = None,
) -> Grade:
    """Run a fault and its twin, and say how well the rules did.

    Raises
    ------
    Exception
        What a fault that is called silent, or a twin, has raised.
    """
    case, sick = watch_fault(
        fault, False, rules=rules, variation=variation, budget=budget
    )
    _, well = watch_fault(fault, True, rules=rules, variation=variation, budget=budget)
    return compare(fault, case, (sick, well), seed=variation.seed)


def compare(
    fault: Fault, case: Case, watched: tuple[Watched, Watched], *, seed: int = 0
) -> Grade:
    """Compare what was found in a fault and in its twin with what should be."""
    sick, well = watched
    findings = sick.report.findings
    own = [each for each in findings if each.code == fault.code]
    accepted = case.places or fault.places
    allowed = {fault.code, *fault.also}
    shown = (own or list(findings))[:1]
    return Grade(
        id=fault.id,
        area=fault.area,
        code=fault.code,
        seed=seed,
        found=any(each.code in allowed for each in findings),
        right_cause=bool(own) and findings[0].code == fault.code,
        right_place=any(_is_at(each.places[:1], accepted) for each in own),
        any_place=any(_is_at(each.places, accepted) for each in own),
        steps=_steps_until_found(sick, fault),
        seconds=sick.seconds + well.seconds,
        codes=tuple(dict.fromkeys(each.code for each in findings)),
        place=str(shown[0].place) if shown and shown[0].places else "",
        wrong=_wrong(findings, allowed),
        twin=alarms(well.report.findings),
    )


def watch_fault(
    fault: Fault,
    fixed: bool,
    *,
    rules: Sequence[Rule] | None = None,
    variation: Variation = PLAIN,
    budget: float | None = None,
    each_step: int = EACH_STEP,
) -> tuple[Case, Watched]:
    """Build and run a fault, or its twin; for ``each_step`` see `watch_case`.

    Raises
    ------
    Exception
        What a fault that is called silent, or a twin, has raised.
    """
    with _unheard():
        case = fault.build(fixed, variation)
        watched = watch_case(
            case, fault.steps, rules=rules, budget=budget, each_step=each_step
        )
    if watched.error is not None and (fixed or fault.silent):
        raise watched.error
    return case, watched


def watch_healthy(
    healthy: Healthy,
    *,
    rules: Sequence[Rule] | None = None,
    variation: Variation = PLAIN,
    budget: float | None = None,
    each_step: int = EACH_STEP,
) -> Quiet:
    """Run a healthy case and collect the alarms; for ``each_step`` see `watch_case`."""
    with _unheard():
        case = healthy.build(variation)
        if case.trainer is not None:
            end_after(healthy.steps, case.trainer)
        watched = watch_case(
            case, healthy.steps, rules=rules, budget=budget, each_step=each_step
        )
    if watched.error is not None:
        raise watched.error
    return Quiet(
        healthy.id,
        variation.seed,
        len(watched.run.steps),
        alarms(watched.report.findings),
        watched.seconds,
    )


def alarms(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Return the codes of what is a warning or worse, each once."""
    loud = (each.code for each in findings if each.severity >= Severity.WARNING)
    return tuple(dict.fromkeys(loud))


@contextlib.contextmanager
def _unheard() -> Iterator[None]:
    """Keep what trainers print, and warnings of others than ftlab, out of the table."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("default", category=FtlabWarning)
        yield


def _wrong(findings: Sequence[Finding], allowed: set[str]) -> tuple[str, ...]:
    """Return the alarms that are neither expected nor follow from one that is."""
    follows = {each.code: each.follows for each in findings}
    right = set(allowed)
    for _ in follows:
        right |= {code for code, cause in follows.items() if cause in right}
    return tuple(code for code in alarms(findings) if code not in right)


def _is_at(places: Sequence[object], accepted: Sequence[str]) -> bool:
    return any(fnmatchcase(str(place), each) for place in places for each in accepted)


def _steps_until_found(watched: Watched, fault: Fault) -> int | None:
    at = watched.found_at.get(fault.code)
    return None if at is None else max(at - fault.evident, 0)
