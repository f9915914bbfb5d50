"""Lines of cause and effect among findings: what one symptom goes back to."""

from collections.abc import Iterable

from ftlab.records.finding import Finding
from ftlab.records.ranking import ranked

LONG = 3
"""Links from which on a line of cause and effect is worth a line of text."""


def chains(findings: Iterable[Finding]) -> list[tuple[Finding, ...]]:
    """Return each line of cause and effect, the symptom first and the root last.

    A symptom is what follows from another finding while nothing follows from it.

    Examples
    --------
    >>> from ftlab.records.chains import chains
    >>> from ftlab.records.finding import Finding, Place, Severity
    >>> def found(code, follows=""):
    ...     place = (Place("object", "loss"),)
    ...     return Finding(
    ...         code, "n", Severity.ERROR, "m", "c", "f", place, 0, 0, follows=follows
    ...     )
    >>> flat, stuck, cut = found("C", "B"), found("B", "A"), found("A")
    >>> [[each.code for each in line] for line in chains([flat, stuck, cut])]
    [['C', 'B', 'A']]
    """
    order = ranked(findings)
    by_code: dict[tuple[str, int], Finding] = {}
    for finding in order:
        by_code.setdefault((finding.code, finding.rank), finding)
    causes = {(each.follows, each.rank) for each in order if each.follows}
    lines: dict[tuple[str, ...], tuple[Finding, ...]] = {}
    for finding in order:
        if finding.follows and (finding.code, finding.rank) not in causes:
            line = _upwards(finding, by_code)
            lines.setdefault(tuple(each.code for each in line), line)
    return [line for line in lines.values() if len(line) > 1]


def chain_lines(findings: Iterable[Finding]) -> list[str]:
    """Return the long lines of cause and effect in words.

    Such as ``"flat loss (NUM003) <- gradient not reaching (GRD003) <- graph cut"``: the
    last link is the reason that the root gives, where it gives one.
    """
    lines = [links(line) for line in chains(findings)]
    return [" <- ".join(line) for line in lines if len(line) >= LONG]


def links(line: tuple[Finding, ...]) -> list[str]:
    """Return the links of one line in words, the symptom first."""
    words = [f"{_spaced(each.name)} ({each.code})" for each in line]
    reason = _spaced(str(line[-1].evidence.get("reason", "unknown")))
    return words if reason == "unknown" else [*words, reason]


def _upwards(
    finding: Finding, by_code: dict[tuple[str, int], Finding]
) -> tuple[Finding, ...]:
    line = [finding]
    while (cause := by_code.get((line[-1].follows, finding.rank))) is not None:
        if any(cause is each for each in line):
            break
        line.append(cause)
    return tuple(line)


def _spaced(name: str) -> str:
    return name.replace("-", " ")
