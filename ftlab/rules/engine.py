"""The engine: hands windows of a run to rules and merges what they yield.

Who calls whom: while training runs, a background thread calls `Engine.tick` with a
budget of seconds; `Engine.check` judges a whole run at once. Both keep one `Scan` per
rule, which says what the rule has seen. The latest window comes first; older steps that
a rule missed, because it was out of time, are made up for afterwards, latest first.
A rule that raises is switched off with one warning and ends as *not checked*.
"""

import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from ftlab.records.errors import FtlabWarning
from ftlab.rules.registry import all_rules
from ftlab.rules.report import FindingSet, Report, report_of
from ftlab.rules.rule import Finding, NotChecked, Rule, Run

WINDOW = 256
"""Steps that a rule sees at a time."""

OVERLAP = 64
"""Steps that two neighbouring windows share, so that no border hides a streak."""


@dataclass(slots=True)
class Scan:
    """What one rule has seen of a run.

    Attributes
    ----------
    seen
        The step up to which the newest window reached, or -1 before the first one.
    gaps
        Stretches ``(start, stop)`` that were skipped, the latest one at the end.
    seconds
        How long the rule took last time.
    undecided
        Why the rule could not decide, when it could not.
    off
        Whether the rule raised and is no longer called.
    """

    rule: Rule
    seen: int = -1
    gaps: list[tuple[int, int]] = field(default_factory=list)
    seconds: float = 0.0
    undecided: NotChecked | None = None
    off: bool = False

    def waits(self, stop: int) -> bool:
        """Tell whether the rule has not seen all steps before ``stop``."""
        return not self.off and (self.seen < stop or bool(self.gaps))

    def latest(self, stop: int) -> tuple[int, int]:
        """Take the newest window that ends at ``stop``; note what it leaves out."""
        start = max(0, stop - WINDOW)
        if start > max(self.seen, 0):
            self.gaps.append((max(self.seen - OVERLAP, 0), start + OVERLAP))
        self.seen = stop
        return start, stop

    def older(self, steps: NDArray[np.int64]) -> tuple[int, int]:
        """Take the latest window of what was left out, where there are ``steps``."""
        start, stop = self.gaps.pop()
        behind = int(np.searchsorted(steps, stop))
        stop = max(start, int(steps[behind - 1]) + 1 if behind else start)
        first = max(start, stop - WINDOW)
        if first > start:
            self.gaps.append((start, first + OVERLAP))
        return first, stop


class Engine:
    """Checks a run with a set of rules.

    Parameters
    ----------
    rules
        The rules to use; all of them by default.
    clock
        Seconds that only grow; passed in so that tests can set them.

    Examples
    --------
    >>> from ftlab.rules.engine import Engine
    >>> from ftlab.runlog.run import Run
    >>> report = Engine().check(Run())
    >>> len(report.findings), report.not_checked[0].code
    (0, 'ADP001')
    """

    def __init__(
        self,
        rules: Iterable[Rule] | None = None,
        *,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        chosen = all_rules() if rules is None else rules
        self._rules = tuple(rule for rule in chosen if rule.status != "removed")
        self._clock = clock
        self._restart()

    def _restart(self) -> None:
        self._scans = [Scan(rule) for rule in self._rules]
        causes = {rule.code: rule.caused_by for rule in self._rules}
        self._findings = FindingSet(causes)
        self._debt = 0.0
        self._late = 0
        self._look: tuple[Run, tuple[int, int], Run] | None = None

    def check(self, run: Run) -> Report:
        """Check all of ``run``, whatever was checked before."""
        self._restart()
        return self.finish(run)

    def tick(self, run: Run, budget_s: float) -> Report:
        """Check what is new for about ``budget_s`` seconds.

        A rule is never interrupted; time that it took too long is saved at the next
        ticks, so that many ticks together keep to their budgets.

        Returns
        -------
        Report
            Only findings that are new, got worse or have lasted twice as long since
            they were told last.
        """
        allowed, self._debt = budget_s - self._debt, 0.0
        begin = self._clock()
        spent = 0.0
        while spent < allowed and (scan := self._next(run)) is not None:
            if spent and spent + scan.seconds > allowed:
                break
            self._check(scan, run)
            spent = self._clock() - begin
        self._debt = max(0.0, spent - allowed)
        return Report(self._findings.news(), self.report().not_checked)

    def finish(self, run: Run) -> Report:
        """Check what no tick has checked yet, and return everything."""
        self._hear_late(run)
        stop = run.last_step + 1
        while waiting := [scan for scan in self._scans if scan.waits(stop)]:
            for scan in waiting:
                self._check(scan, run)
        return self.report()

    def hear(self, finding: Finding) -> None:
        """Take in what others have found: findings of rules may follow from it."""
        self._findings.add(finding)

    def report(self) -> Report:
        """Return what has been found so far."""
        undecided = (scan.undecided for scan in self._scans)
        return report_of(self._findings, (entry for entry in undecided if entry))

    def _next(self, run: Run) -> Scan | None:
        """Choose the rule that is furthest behind, then any with a gap."""
        self._hear_late(run)
        stop = run.last_step + 1
        ready = [scan for scan in self._scans if not scan.off]
        behind = min(ready, key=attrgetter("seen"), default=None)
        if behind is not None and behind.seen < stop:
            return behind
        return next((scan for scan in ready if scan.gaps), None)

    def _hear_late(self, run: Run) -> None:
        """Let all rules see a step again that the end of a run has added to."""
        if run.late > self._late:
            self._late = run.late
            for scan in self._scans:
                scan.seen = min(scan.seen, run.last_step)

    def _check(self, scan: Scan, run: Run) -> None:
        """Let one rule see its next window."""
        begin = self._clock()
        stop = run.last_step + 1
        newest = scan.seen < stop
        bounds = scan.latest(stop) if newest else scan.older(run.steps.step)
        # Before the first step a run is its facts alone, and no window shows those.
        window = self._window(run, bounds) if stop else run
        try:
            self._judge(scan, run, window, newest)
        except Exception as error:  # noqa: BLE001  a failing rule must not end training
            self._switch_off(scan, error)
        scan.seconds = self._clock() - begin

    def _window(self, run: Run, bounds: tuple[int, int]) -> Run:
        """Give rules that look at the same steps one window, which reads them once."""
        if self._look is None or self._look[:2] != (run, bounds):
            self._look = run, bounds, run.window(*bounds)
        return self._look[2]

    def _judge(self, scan: Scan, run: Run, window: Run, newest: bool) -> None:
        results = _results(scan.rule, run, window)
        undecided = [entry for entry in results if isinstance(entry, NotChecked)]
        if newest:
            scan.undecided = undecided[0] if undecided else None
        self._findings.add(*(each for each in results if isinstance(each, Finding)))

    def _switch_off(self, scan: Scan, error: Exception) -> None:
        rule, scan.off = scan.rule, True
        words = f"{type(error).__name__}: {error}"
        scan.undecided = rule.cannot_tell(
            f"the rule itself failed with {words}",
            "report it with the run folder; the other rules continue",
        )
        warnings.warn(
            f"Rule {rule.code} {rule.name} failed and is switched off: {words}",
            FtlabWarning,
            stacklevel=2,
        )


def _results(rule: Rule, run: Run, window: Run) -> list[Finding | NotChecked]:
    if any(need.absent(run) for need in rule.needs) or not rule.applies(run):
        return []
    missing = rule.missing(run)
    return [missing] if missing else list(rule.check(window))
