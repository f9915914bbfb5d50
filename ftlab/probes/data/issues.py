"""What was found, judged by how many rows have it."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ftlab.probes.data.scan import Scan
from ftlab.records.data_kind import Kind
from ftlab.records.data_kinds import KINDS
from ftlab.records.data_scan import DataIssue, Lengths


def issues_of(
    scan: Scan, *, evaluation: tuple[int, int] = (0, 0), meant: tuple[str, ...] = ()
) -> tuple[DataIssue, ...]:
    """Return the kinds of faults that the rows have, worst and most frequent first.

    Parameters
    ----------
    evaluation
        Rows of the evaluation data that the training holds too, and all of them.
    meant
        Kinds that are no faults here.
    """
    found = [
        issue
        for name, kind in KINDS.items()
        if name in scan.findings.rows and name not in meant
        for issue in _issue(scan, kind, evaluation)
    ]
    return tuple(sorted(found, key=lambda each: (-each.severity, -each.share)))


def _issue(scan: Scan, kind: Kind, evaluation: tuple[int, int]) -> Iterator[DataIssue]:
    rows = len(scan.findings.rows[kind.name])
    share = rows / max(scan.rows, 1)
    message = f"{kind.says}: {rows:,} of {scan.rows:,} rows ({percent(share)})"
    if kind.name == "leaked-evaluation-row":
        held, total = evaluation
        share = held / max(total, 1)
        message += (
            f"; {held:,} of {total:,} rows of the evaluation data ({percent(share)})"
        )
    among = sum(scan.formats[each] for each in kind.among)
    severity = kind.judge(rows / among if among else share)
    if severity is None:
        return
    spots = sorted(scan.findings.spots[kind.name], key=lambda spot: spot.row)
    yield DataIssue(
        kind.name,
        severity,
        rows,
        share,
        message,
        kind.cause,
        kind.fix,
        tuple(spots),
        kind.left_out,
    )


def percent(share: float) -> str:
    """Write a share with two digits.

    Examples
    --------
    >>> from ftlab.probes.data.issues import percent
    >>> percent(0.3333), percent(0.00004), percent(1)
    ('33 %', '0.004 %', '100 %')
    """
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"


def report_repeated(scan: Scan) -> None:
    """Report the rows that say what an earlier one says."""
    for rows, firsts in scan.keys.repeated():
        for row, first in zip(rows.tolist(), firsts.tolist(), strict=True):
            says = f"the same as {scan.place(first)}"
            scan.report("duplicate-row", row, says=says, excerpt=scan.beginning)


def report_cut_answers(scan: Scan) -> None:
    """Report answers that break off where the longest ones do."""
    cut = scan.answers.found()
    if cut is None:
        return
    says = (
        f"breaks off at {cut.length:,}, as {cut.broken:,} of {cut.answers:,} do there"
    )
    for row in cut.rows:
        scan.report("answer-of-cut-length", row, says=says, excerpt=scan.end)


def report_leaks_of_labels(scan: Scan) -> None:
    """Report the places at which prompts give their answer away."""
    for words, known in scan.leaks.found():
        for row, part, char in known.spots:
            says = f"the answer follows {words!r}"
            scan.report_in(row, part, "label-in-prompt", char, says)
        for row in known.all_rows.numbers().tolist():
            scan.findings.add("label-in-prompt", row)


def lengths_of(scan: Scan, lengths: Lengths) -> Lengths:
    """Fill in what was counted."""
    sizes = np.array(sorted(scan.lengths), np.int64)
    rows = np.array([scan.lengths[int(value)] for value in sizes], np.int64)
    return replace(lengths, sizes=sizes, rows=rows, total=int((sizes * rows).sum()))
