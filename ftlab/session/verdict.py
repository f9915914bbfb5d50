"""Judge a run log, for the command line and for CI."""

import dataclasses
import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ftlab.records.errors import FtlabWarning
from ftlab.records.finding import Finding, NotChecked, Severity
from ftlab.records.plain_files import path_of
from ftlab.records.ranking import ranked
from ftlab.rules.engine import Engine
from ftlab.rules.registry import all_rules
from ftlab.runlog.folder import EXAMPLE, ranks
from ftlab.runlog.reader import open_log
from ftlab.session.baseline import against
from ftlab.views.steps.baseline import BaselineView


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the rules say of a run log.

    Attributes
    ----------
    steps
        Number of logged steps, of the rank that logged most.
    findings
        Of all ranks, worst first.
    not_checked
        Rules that could not decide on any rank.
    left_out
        What is damaged in the folder and was not judged, and rules that failed on it.
    held
        How it stands against the baseline that was asked for.
    """

    path: Path
    steps: int
    findings: tuple[Finding, ...]
    not_checked: tuple[NotChecked, ...]
    left_out: tuple[str, ...] = ()
    held: BaselineView | None = None

    @property
    def worst(self) -> Severity | None:
        """The highest severity, or ``None`` when nothing was found."""
        return max((finding.severity for finding in self.findings), default=None)

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as values that JSON can hold."""
        return {
            "run_dir": str(self.path),
            "steps": self.steps,
            "findings": [_finding_json(finding) for finding in self.findings],
            "not_checked": [dataclasses.asdict(each) for each in self.not_checked],
            "left_out": list(self.left_out),
        } | ({} if self.held is None else {"baseline": self.held.to_json()})


def judge(
    path: str | Path, baseline: Path | None = None, allow: Iterable[str] = ()
) -> Verdict:
    """Read the run log at ``path`` and check it with all rules, rank by rank.

    And against a ``baseline``, with ``allow``ed factors, as ``"slow steps=3"``.

    Raises
    ------
    RunFolderError
        The folder is no run.
    """
    path = path_of(path, "path", EXAMPLE)
    held = None
    if baseline is not None:
        limits = dict(each.partition("=")[::2] for each in allow)
        held = against(open_log(path), baseline, limits)
    findings: list[Finding] = []
    undecided: dict[str, NotChecked] = {}
    decided: set[str] = set()
    steps = 0
    left_out: dict[str, None] = {}
    for rank in ranks(path) or (0,):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", FtlabWarning)
            run = open_log(path, rank=rank)
            report = Engine().check(run)
        damage = (e for e in told if issubclass(e.category, FtlabWarning))
        left_out |= {str(each.message): None for each in damage}
        steps = max(steps, len(run.steps))
        findings += report.findings
        missing = {each.code: each for each in report.not_checked}
        undecided |= missing
        decided |= {rule.code for rule in all_rules()} - missing.keys()
    return Verdict(
        path,
        steps,
        ranked(findings),
        tuple(each for code, each in sorted(undecided.items()) if code not in decided),
        tuple(left_out),
        held,
    )


def _finding_json(finding: Finding) -> dict[str, Any]:
    values = dataclasses.asdict(finding)
    values["severity"] = finding.severity.label
    values["evidence"] = {name: _plain(it) for name, it in finding.evidence.items()}
    return values


def _plain(value: float | int | str) -> float | int | str:
    """Write NaN and infinity as words: JSON has no such numbers."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
