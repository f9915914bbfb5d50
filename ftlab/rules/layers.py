"""The rules as items of a checklist: what they found, could not tell and passed.

Who calls whom: `rule_items` is given a run that was judged and its report. A finding
is an item of its own; what the other rules of a layer say is gathered in one item, for
sixty lines of *passed* help nobody.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ftlab.records.checklist import LAYERS, CheckItem, Layer
from ftlab.records.finding import Finding, NotChecked, Severity
from ftlab.rules.registry import PREFIXES, all_rules
from ftlab.rules.report import Report
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps, counted, listed
from ftlab.runlog.run import Run

LAYER_OF_AREA: dict[str, Layer] = {
    "data": "data",
    "model": "model",
    "optimizer": "optimizer",
    "gradient": "numerics",
    "adapter": "model",
    "numeric": "numerics",
    "memory": "device",
    "ranks": "device",
    "environment": "device",
}
"""The layer of a checklist that the rules of an area belong to."""

_AREAS = {prefix: area for area, prefix in PREFIXES.items()}


def layer_of(rule: Rule) -> Layer:
    """Return the layer of a checklist that a rule belongs to.

    Examples
    --------
    >>> from ftlab.rules.layers import layer_of
    >>> from ftlab.rules.registry import find_rule
    >>> layer_of(find_rule("GRD003")), layer_of(find_rule("ADP001"))
    ('numerics', 'model')
    """
    return rule.layer or LAYER_OF_AREA[_AREAS[rule.code[:3]]]


def rule_items(
    run: Run, report: Report, rules: Iterable[Rule] | None = None
) -> list[CheckItem]:
    """Return what a judged run's rules say, as items of a checklist.

    Parameters
    ----------
    run
        What was judged.
    report
        What the engine said of it.
    rules
        The rules that the engine had; all of them by default.
    """
    asked = [each for each in rules or all_rules() if each.status != "removed"]
    layers = {rule.code: layer_of(rule) for rule in asked}
    bad = [each for each in report.findings if each.severity >= Severity.WARNING]
    items = [_failed(each, layers[each.code]) for each in bad if each.code in layers]
    decided = _quiet(asked, run, report, {each.code for each in bad})
    for layer in LAYERS:
        passed = [rule for rule in decided if layers[rule.code] == layer]
        noted = [f for f in report.findings if f not in bad]
        items += _passed(layer, passed, noted)
        undecided = [e for e in report.not_checked if layers.get(e.code) == layer]
        items += _undecided(layer, undecided)
    return items


def _quiet(
    rules: Sequence[Rule], run: Run, report: Report, found: set[str]
) -> list[Rule]:
    """List the rules that could decide and found nothing to warn of."""
    open_ = {each.code for each in report.not_checked}
    judged = [rule for rule in rules if rule.code not in found | open_]
    return [rule for rule in judged if _safely(rule.applies, run)]


def _safely(applies: Callable[[Run], bool], run: Run) -> Any:
    """Tell whether a rule applies; one that fails was reported by the engine."""
    try:
        return applies(run)
    except Exception:  # noqa: BLE001  a failing rule must not end a checklist
        return False


def _failed(finding: Finding, layer: Layer) -> CheckItem:
    seen = dict(finding.evidence)
    if finding.last_step >= 0:
        seen["seen at"] = at_steps(finding.first_step, finding.last_step)
    cause = finding.cause
    if finding.follows:
        cause = f"{cause} Mend {finding.follows} first: this follows from it."
    return CheckItem(
        layer=layer,
        name=finding.name.replace("-", " "),
        status="failed",
        says=finding.message,
        evidence=seen,
        cause=cause,
        fix=finding.fix,
        code=finding.code,
        places=finding.places,
        severity=finding.severity,
    )


def _passed(
    layer: Layer, rules: Sequence[Rule], noted: Sequence[Finding]
) -> Iterator[CheckItem]:
    if not rules:
        return
    codes = [rule.code for rule in rules]
    notes = [f"{each.code}: {each.message}" for each in noted if each.code in codes]
    yield CheckItem(
        layer=layer,
        name=f"rules of this layer ({listed(codes, 3)})",
        status="passed",
        says=f"{counted(len(rules), 'rule')} found nothing"
        + (f" to warn of; {' '.join(notes)}" if notes else ""),
        evidence={"rules": ", ".join(codes)},
    )


def _undecided(layer: Layer, entries: Sequence[NotChecked]) -> Iterator[CheckItem]:
    by_need: dict[tuple[str, str], list[NotChecked]] = {}
    for entry in entries:
        by_need.setdefault((entry.reason, entry.record), []).append(entry)
    for (reason, record), same in by_need.items():
        names = [entry.name.replace("-", " ") for entry in same]
        yield CheckItem(
            layer=layer,
            name=listed(names, 2),
            status="not checked",
            says=reason,
            fix=record,
            code=same[0].code if len(same) == 1 else "",
            evidence={"rules": ", ".join(entry.code for entry in same)},
        )
