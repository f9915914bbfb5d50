"""The rules as items of a checklist: what they found, could not tell and passed.

Who calls whom: `rule_items` is given a run that was judged and its report. A finding
is an item of its own, failed or only noted; what the other rules of a layer say is
gathered in one item, for sixty lines of *passed* help nobody.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ftlab.records.checklist import LAYERS, CheckItem, Layer
from ftlab.rules.registry import PREFIXES, all_rules
from ftlab.rules.report import Report
from ftlab.rules.rule import ANY, Finding, NotChecked, Rule, Run, Severity
from ftlab.rules.words import at_steps, counted, listed

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
    "time": "device",
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
    run: Run,
    report: Report,
    rules: Iterable[Rule] | None = None,
    *,
    unrun: tuple[str, str] = ("", ""),
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
    unrun
        Why there is no step at all, and what to do: said once, in place of what each
        rule misses.
    """
    asked = [each for each in rules or all_rules() if each.status != "removed"]
    layers = {rule.code: layer_of(rule) for rule in asked}
    known = list(_known(report, layers))
    bad = _as_bad_as_what_follows(known)
    items = [
        replace(_found(each, layers[each.code]), severity=bad[each.code])
        for each in known
    ]
    decided = _quiet(asked, run, report, {each.code for each in known})
    open_ = _unexplained(asked, report)
    for layer in LAYERS:
        items += _passed(layer, [r for r in decided if layers[r.code] == layer])
        undecided = [each for each in open_ if layers.get(each.code) == layer]
        items += _unseen(layer, undecided, *unrun)
    return items


def _known(report: Report, layers: Mapping[str, Layer]) -> Iterator[Finding]:
    """Yield the findings of these rules; a warning makes a rule's own note needless."""
    bad = {each.code for each in report.findings if each.severity >= Severity.WARNING}
    for each in report.findings:
        noted = each.severity < Severity.WARNING
        if each.code in layers and not (noted and each.code in bad):
            yield each


def _as_bad_as_what_follows(known: Sequence[Finding]) -> dict[str, Severity]:
    """Tell how bad each code is: a cause is no less so than what follows from it.

    So it is read first: ``known`` is ranked, with each cause above what follows.
    """
    bad: dict[str, Severity] = {}
    for each in reversed(known):
        worst = max(each.severity, bad.get(each.code, each.severity))
        bad[each.code] = worst
        if each.follows:
            bad[each.follows] = max(worst, bad.get(each.follows, worst))
    return bad


def _unexplained(rules: Sequence[Rule], report: Report) -> list[NotChecked]:
    """Leave out rules that wait for what a finding has made impossible to come."""
    bad = [each for each in report.findings if each.severity >= Severity.WARNING]
    causes = {each.code for each in bad}
    if any(each.severity >= Severity.ERROR for each in bad):
        causes.add(ANY)
    late = {rule.code for rule in rules if causes.intersection(rule.caused_by)}
    return [each for each in report.not_checked if each.code not in late]


def _unseen(
    layer: Layer, entries: Sequence[NotChecked], why: str, do: str
) -> Iterator[CheckItem]:
    """Say of all rules of a layer at once what they miss, if it is one thing."""
    if not why or not entries:
        yield from _undecided(layer, entries)
        return
    yield CheckItem(
        layer=layer,
        name=f"{counted(len(entries), 'rule')} of layer {layer}",
        status="not checked",
        says=why,
        fix=do,
        evidence={"rules": ", ".join(entry.code for entry in entries)},
    )


def _quiet(
    rules: Sequence[Rule], run: Run, report: Report, found: set[str]
) -> list[Rule]:
    """List the rules that could decide and found nothing."""
    open_ = {each.code for each in report.not_checked}
    judged = [rule for rule in rules if rule.code not in found | open_]
    return [rule for rule in judged if _safely(rule.applies, run)]


def _safely(applies: Callable[[Run], bool], run: Run) -> Any:
    """Tell whether a rule applies; one that fails was reported by the engine."""
    try:
        return applies(run)
    except Exception:  # noqa: BLE001  a failing rule must not end a checklist
        return False


def _found(finding: Finding, layer: Layer) -> CheckItem:
    """Make an item: failed from a warning on, else passed and noted."""
    seen = dict(finding.evidence)
    if finding.last_step >= 0:
        seen["seen at"] = at_steps(finding.first_step, finding.last_step)
    cause = finding.cause
    if finding.follows:
        cause = f"{cause} Fix {finding.follows} first: this follows from it."
    return CheckItem(
        layer=layer,
        name=finding.name.replace("-", " "),
        status="failed" if finding.severity >= Severity.WARNING else "passed",
        says=finding.message,
        evidence=seen,
        cause=cause,
        fix=finding.fix,
        code=finding.code,
        places=finding.places,
        severity=finding.severity,
    )


def _passed(layer: Layer, rules: Sequence[Rule]) -> Iterator[CheckItem]:
    if not rules:
        return
    codes = [rule.code for rule in rules]
    yield CheckItem(
        layer=layer,
        name=f"rules of this layer ({listed(codes, 3)})",
        status="passed",
        says=f"{counted(len(rules), 'rule')} found nothing",
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
