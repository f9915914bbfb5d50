"""How bad a finding is that depends on what the run will be.

Some states harm nothing until an evaluation meets them: where the trainer's arguments
plan one, the note is a warning before the run, and nobody has to lose the first epoch.
Others harm nothing where nothing is trained: with no optimizer and no step handed over,
the model may be one that is only used, or that gets its adapter later.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from ftlab.records.finding import Finding, Severity
from ftlab.rules.report import Report

BY_EVALUATION = frozenset({"MOD001"})
"""Rules whose notes speak of what the first forward in eval mode will do."""


BY_TRAINING = frozenset({"MOD002"})
"""Rules that take what is trainable for what shall be trained."""


def supposed(report: Report) -> Report:
    """Return the report with as notes what holds only if the model shall be trained."""
    findings = (
        dataclasses.replace(each, severity=Severity.INFO)
        if each.code in BY_TRAINING
        else each
        for each in report.findings
    )
    return dataclasses.replace(report, findings=tuple(findings))


def foreseen(report: Report, args: Mapping[str, Any]) -> Report:
    """Return the report with notes as warnings where what they wait for is planned.

    Examples
    --------
    >>> from ftlab.rules.report import Report
    >>> from ftlab.session.preflight.foreseen import foreseen
    >>> foreseen(Report(), {"eval_strategy": "epoch"}).findings
    ()
    """
    strategy = str(args.get("eval_strategy") or "no")
    if strategy == "no":
        return report
    findings = (_sure(each, strategy) for each in report.findings)
    return dataclasses.replace(report, findings=tuple(findings))


def _sure(finding: Finding, strategy: str) -> Finding:
    if finding.code not in BY_EVALUATION or finding.severity != Severity.INFO:
        return finding
    return dataclasses.replace(
        finding,
        severity=Severity.WARNING,
        message=f"{finding.message}, and eval_strategy={strategy!r} plans one",
    )
