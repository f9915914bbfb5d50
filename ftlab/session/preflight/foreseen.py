"""What a rule only notes, and the arguments of the run make sure to come.

Some states harm nothing until an evaluation meets them. Where the trainer's arguments
plan one, the note is a warning before the run; nobody has to lose the first epoch.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from ftlab.records.finding import Finding, Severity
from ftlab.rules.report import Report

BY_EVALUATION = frozenset({"MOD001"})
"""Rules whose notes speak of what the first forward in eval mode will do."""


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
