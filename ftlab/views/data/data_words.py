"""A dataset in words: what a log and a stored notebook keep."""

import textwrap

from ftlab.records.data_scan import DataIssue, DataScan
from ftlab.records.finding import Severity
from ftlab.views.style import count

SHOWN = 3
"""Places of each kind that the text shows."""

WIDTH = 104


def data_words(scan: DataScan) -> str:
    """Say what was found, worst first."""
    lines = [f"Data: {head_words(scan)}: {found_words(scan)}"]
    lines += [f"Lengths in {scan.lengths.unit}: {length_words(scan)}"]
    if scan.near is not None:
        near = scan.near
        lines.append(
            f"Near duplicates: {near.rows:,} rows compared, {near.pairs:,} of "
            f"{near.candidates:,} candidates are similar (Jaccard {near.threshold:g})"
        )
    for issue in scan.issues:
        lines += ["", f"{issue.severity.label.upper()} {issue.code} {issue.name}"]
        for word, text in issue_words(issue):
            lines += textwrap.wrap(
                text,
                WIDTH,
                initial_indent=f"  {word:<6} ",
                subsequent_indent=" " * 9,
                break_on_hyphens=False,
            )
    if scan.not_checked:
        lines += ["", f"Not checked: {count(len(scan.not_checked), 'thing')}"]
        for each in scan.not_checked:
            lines += textwrap.wrap(
                each, WIDTH, initial_indent="  ", subsequent_indent="    "
            )
    return "\n".join(lines)


def head_words(scan: DataScan) -> str:
    """Name the dataset, its rows and their forms."""
    forms = ", ".join(f"{name} {n:,}" for name, n in scan.formats.items() if name)
    words = f"{scan.name}, {count(scan.rows, 'row')}"
    words += f" ({forms})" if forms else ""
    if scan.changed:
        words += f"; {', '.join(scan.changed[:3])} changed while it was read"
    return words if scan.complete else f"{words}; stopped before the end"


def found_words(scan: DataScan) -> str:
    """Count what was found: ``"1 error, 2 notes"``."""
    words = []
    for severity in sorted(Severity, reverse=True):
        quantity = sum(issue.severity is severity for issue in scan.issues)
        noun = "note" if severity is Severity.INFO else severity.label
        words += [count(quantity, noun)] if quantity else []
    return ", ".join(words) or "nothing found"


def length_words(scan: DataScan) -> str:
    """Say how long the rows are, and what the limit cuts off."""
    known = scan.lengths
    words = (
        f"half up to {known.quantile(0.5):,}, 95 % up to {known.quantile(0.95):,}, "
        f"longest {known.longest:,}; {known.total:,} in all"
    )
    if known.limit:
        words += f"; {known.limit_from} {known.limit:,} "
        words += (
            f"cuts {count(known.above, 'row')} and {known.cut:,} {known.unit}"
            if known.above
            else "cuts nothing"
        )
    if known.error > 0:
        words += f"; counted to within {known.error} of the rendered template"
    return words


def issue_words(issue: DataIssue) -> list[tuple[str, str]]:
    """Return what an issue says as (word, text)."""
    lines = [("what", issue.message), ("why", issue.cause), ("do", issue.fix)]
    lines += [("where", repr(spot)) for spot in issue.spots[:SHOWN]]
    rest = issue.rows - min(SHOWN, len(issue.spots))
    if rest > 0:
        lines.append(("", f"and {count(rest, 'more row')}"))
    return lines
