"""What findings say: pairs of a word and a text, and what was not checked."""

from collections.abc import Sequence
from dataclasses import dataclass

from ftlab.records.finding import Finding, NotChecked, Severity
from ftlab.records.sizes import size
from ftlab.views.style import count, number, steps


@dataclass(frozen=True, slots=True)
class FindingsSummary:
    """Findings, worst first, and what could not be checked."""

    findings: tuple[Finding, ...]
    not_checked: tuple[NotChecked, ...]


def said(finding: Finding) -> list[tuple[str, str]]:
    """Return what a finding says as (word, text): what, why, do, where, ..."""
    lines = [("what", finding.message), ("why", finding.cause)]
    lines += [("first", follows(finding)), ("do", finding.fix)]
    lines.append(("where", where(finding)))
    if finding.evidence:
        known = [(n, value) for n, value in finding.evidence.items() if value != ""]
        shown = (f"{name} {_value(name, value)}" for name, value in known)
        lines.append(("seen", ", ".join(shown)))
    if finding.healthy:
        lines.append(("else", finding.healthy))
    return [(word, text) for word, text in lines if text]


def follows(finding: Finding) -> str:
    """Return which finding is the cause of this one, in words; ``""`` without one."""
    if not finding.follows:
        return ""
    return f"fix {finding.follows}: this follows from it"


def where(finding: Finding) -> str:
    """Return steps and places in words."""
    text = (
        steps(finding.first_step, finding.last_step) if finding.last_step >= 0 else ""
    )
    rank = [f"rank {finding.rank}"] if finding.rank else []
    return ", ".join([part for part in [text, finding.where, *rank] if part])


def counted(findings: Sequence[Finding]) -> str:
    """Return ``1 error, 2 warnings``."""
    words = []
    for severity in sorted(Severity, reverse=True):
        quantity = sum(one.severity is severity for one in findings)
        if quantity:
            noun = "note" if severity is Severity.INFO else severity.label
            words.append(count(quantity, noun))
    return ", ".join(words)


def unchecked_words(not_checked: Sequence[NotChecked]) -> list[tuple[str, str]]:
    """Group rules by what was missing: who they are, what, and what to record."""
    groups: dict[tuple[str, str], list[NotChecked]] = {}
    for one in not_checked:
        groups.setdefault((one.reason.rstrip(". "), one.record), []).append(one)
    found = []
    for (missing, record), rules in groups.items():
        alone = f"{rules[0].code} {rules[0].name}"
        who = alone if len(rules) == 1 else ", ".join(one.code for one in rules)
        words = f"{missing[:1].upper()}{missing[1:]}. Next time: {record}"
        found.append((who, words))
    return found


def _value(name: str, value: float | int | str) -> str:
    write = size if "bytes" in name.split("_") else number
    return value if isinstance(value, str) else write(float(value))
