"""What checking a run gave: findings, worst first, and what could not be decided."""

import dataclasses
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ftlab.records.ranking import ranked
from ftlab.rules.rule import ANY, MAX_PLACES, Finding, NotChecked, Place, Severity


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a check.

    Attributes
    ----------
    findings
        Worst first, then by first step and code; causes above what follows from them.
    not_checked
        One entry per rule that could not decide, by code.
    """

    findings: tuple[Finding, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()

    @property
    def healthy(self) -> bool:
        """Whether nothing was found; says nothing about what was not checked."""
        return not self.findings


class FindingSet:
    """Findings of one run, each kept once with its first and last step.

    Two sightings are one finding when code and rank agree and one names the first place
    of the other: as a window moves on, the same fault shows at more or fewer places.
    The place that was named first stays in front, so that `Finding.key` never changes.

    Parameters
    ----------
    causes
        By code of a rule, the codes whose findings are the cause of its own; see
        `ftlab.rules.rule.Rule.caused_by`.
    """

    def __init__(self, causes: Mapping[str, Sequence[str]] | None = None) -> None:
        self._causes = causes or {}
        self._found: list[Finding] = []
        self._told: dict[tuple[str, Place, int], Finding] = {}

    def add(self, *findings: Finding) -> None:
        """Add what one rule has seen at one time.

        Of these, two with different reasons are two findings, wherever they overlap,
        but for one first place: that is one finding, with the words of the worse one.
        """
        seen_now: set[int] = set()
        for finding in findings:
            index = self._known(finding, seen_now)
            if index is None:
                index = len(self._found)
                self._found.append(finding)
            else:
                self._found[index] = merge(self._found[index], finding)
            seen_now.add(index)

    def _known(self, finding: Finding, seen_now: Container[int]) -> int | None:
        """Return which finding has been sighted again, one of the same reason first."""
        alike = [i for i, known in enumerate(self._found) if _same(known, finding)]
        told = [i for i in alike if _reason(self._found[i]) == _reason(finding)]
        free = [
            i
            for i in alike
            if i not in seen_now or self._found[i].place == finding.place
        ]
        return next(iter([*told, *free]), None)

    def sorted(self) -> tuple[Finding, ...]:
        """Return the findings, worst first, each with the one it follows from."""
        return ranked(self._with_cause(each) for each in self._found)

    def _with_cause(self, finding: Finding) -> Finding:
        """Say from which of the others ``finding`` follows directly."""
        causes = self._causes_of(finding)
        # Of a cause and the cause of it, the nearer one is told: a chain, not a star.
        behind = {other.code for each in causes for other in self._causes_of(each)}
        near = [each.code for each in causes if each.code not in behind]
        chosen = near or [each.code for each in causes]
        if not chosen:
            return finding
        return dataclasses.replace(finding, follows=chosen[0])

    def _causes_of(self, finding: Finding) -> list[Finding]:
        """Return the other findings that may be its cause, the likeliest first."""
        named = self._causes.get(finding.code, ())
        return [
            each
            for code in _spelled_out(named, self._found)
            for each in self._found
            if each.code == code and _is_cause(each, finding, named)
        ]

    def codes(self) -> set[str]:
        """Return the codes of rules that found something."""
        return {finding.code for finding in self._found}

    def news(self) -> tuple[Finding, ...]:
        """Return what is worth telling since the last call, worst first.

        A finding is told when it is new, when it got worse or its cause was found, and
        whenever it has lasted twice as long as when it was told last: a fault that
        stays for 100,000 steps then costs 17 lines of the log.
        """
        fresh = tuple(item for item in self.sorted() if self._is_news(item))
        self._told |= {finding.key: finding for finding in fresh}
        return fresh

    def _is_news(self, finding: Finding) -> bool:
        told = self._told.get(finding.key)
        if told is None or finding.severity > told.severity:
            return True
        if finding.follows != told.follows:
            return True
        return _span(finding) >= 2 * _span(told)


def merge(known: Finding, seen: Finding) -> Finding:
    """Join two sightings; the worse, or else the later, gives the words."""
    worse = seen.severity, seen.last_step
    later = seen if worse >= (known.severity, known.last_step) else known
    places = dict.fromkeys((known.place, *later.places))
    return dataclasses.replace(
        later,
        severity=max(known.severity, seen.severity),
        places=tuple(places)[:MAX_PLACES],
        first_step=min(known.first_step, seen.first_step),
        last_step=max(known.last_step, seen.last_step),
    )


def report_of(findings: FindingSet, not_checked: Iterable[NotChecked]) -> Report:
    """Make the report; a rule that found something was checked after all."""
    decided = findings.codes()
    entries = [entry for entry in not_checked if entry.code not in decided]
    return Report(
        findings.sorted(), tuple(sorted(entries, key=lambda entry: entry.code))
    )


def _spelled_out(named: Sequence[str], found: Sequence[Finding]) -> list[str]:
    """Return the codes of possible causes, the likeliest first; see `ANY`."""
    if ANY not in named:
        return list(named)
    others = (each.code for each in ranked(found) if each.severity >= Severity.ERROR)
    return list(dict.fromkeys([*(code for code in named if code != ANY), *others]))


def _is_cause(cause: Finding, finding: Finding, named: Sequence[str]) -> bool:
    """Tell whether they are of one rank and of one place, where that is needed."""
    if cause.rank != finding.rank or cause.code == finding.code:
        return False
    step = cause.code.startswith("EXP")  # a relation is about the whole step
    return step or ANY in named or _meet(cause.places, finding.places)


def _meet(cause: Sequence[Place], places: Sequence[Place]) -> bool:
    """Tell whether a cause is at one of the places, or around one of them.

    A module is around its parameters, and a setting that names no place is around all.
    """
    if not set(places).isdisjoint(cause):
        return True
    if all(place.kind == "config" for place in cause):
        return True
    modules = tuple(f"{place.name}." for place in cause if place.kind == "module")
    params = (place.name for place in places if place.kind == "param")
    return any(name.startswith(modules) for name in params)


def _reason(finding: Finding) -> object:
    return finding.evidence.get("reason")


def _same(known: Finding, seen: Finding) -> bool:
    if (known.code, known.rank) != (seen.code, seen.rank):
        return False
    return known.place in seen.places or seen.place in known.places


def _span(finding: Finding) -> int:
    return finding.last_step - finding.first_step + 1
