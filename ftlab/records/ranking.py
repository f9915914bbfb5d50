"""The order in which findings are read: worst first, causes above their symptoms."""

from collections.abc import Iterable

from ftlab.records.finding import Finding


def ranked(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Order findings: worst first, then by first step and code.

    What follows from another finding stands right below it, and a cause is as high up
    as the worst that follows from it.

    Examples
    --------
    >>> from ftlab.records.finding import Finding, Place, Severity
    >>> def found(code, severity, follows=""):
    ...     place = (Place("object", "loss"),)
    ...     return Finding(
    ...         code, "n", severity, "m", "c", "f", place, 0, 0, follows=follows
    ...     )
    >>> symptom = found("AAA001", Severity.ERROR, follows="BBB001")
    >>> cause = found("BBB001", Severity.WARNING)
    >>> [each.code for each in ranked([symptom, cause])]
    ['BBB001', 'AAA001']
    """
    order = sorted(findings, key=lambda it: (-it.severity, it.first_step, it.code))
    causes: dict[tuple[str, int], Finding] = {}
    below: dict[tuple[str, int], list[Finding]] = {}
    for finding in order:
        causes.setdefault((finding.code, finding.rank), finding)
        below.setdefault((finding.follows, finding.rank), []).append(finding)
    placed: list[Finding] = []

    def place(finding: Finding) -> None:
        if not any(finding is each for each in placed):
            placed.append(finding)
            for each in below.get((finding.code, finding.rank), ()):
                place(each)

    for finding in order:
        place(_root(finding, causes))
        place(finding)
    return tuple(placed)


def _root(finding: Finding, causes: dict[tuple[str, int], Finding]) -> Finding:
    """Return the cause of the cause; two that follow from each other end at one."""
    passed = {finding.code}
    while (cause := causes.get((finding.follows, finding.rank))) is not None:
        if cause.code in passed:
            break
        passed.add(cause.code)
        finding = cause
    return finding
