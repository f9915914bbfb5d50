"""What only all rows together tell: copies, what answers share, and the lengths."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ftlab.probes.data.scan import Scan
from ftlab.records.data_scan import Lengths
from ftlab.records.printable import printable
from ftlab.records.scanned_rows import FoundRows, ScannedRows

LEAKED, NEARLY = "leaked-evaluation-row", "almost-evaluation-row"


def scanned_rows(
    scan: Scan,
    name: str = "rows",
    *,
    evaluation: Mapping[str, tuple[int, int]] | None = None,
    meant: tuple[str, ...] = (),
    total: int = 0,
) -> ScannedRows:
    """Return what was counted, ready to be judged.

    Parameters
    ----------
    evaluation
        By kind, rows of the evaluation data that the training holds too, and all.
    meant
        Kinds that are no faults here.
    total
        How many rows there are, where not all were looked at.
    """
    held = evaluation or {}
    found = tuple(
        FoundRows(
            each,
            len(rows),
            tuple(sorted(scan.findings.spots[each], key=lambda spot: spot.row)),
            held.get(each),
        )
        for each, rows in scan.findings.rows.items()
        if each not in meant
    )
    return ScannedRows(printable(name), scan.rows, dict(scan.formats), found, total)


def report_repeated(scan: Scan) -> None:
    """Report the rows that say what an earlier one says."""
    for rows, firsts in scan.keys.repeated():
        for row, first in zip(rows.tolist(), firsts.tolist(), strict=True):
            says = f"the same as {scan.place(first)}"
            scan.report("duplicate-row", row, says=says, excerpt=scan.beginning)


def report_answers(scan: Scan) -> None:
    """Report answers that break off at one length, and those that are no value."""
    cut = scan.answers.found()
    if cut is not None:
        says = f"breaks off at {cut.length:,} {cut.unit}"
        says += f", as {cut.broken:,} of {cut.answers:,} do there"
        for row in cut.rows:
            scan.report("answer-of-cut-length", row, says=says, excerpt=scan.end)
    for row in scan.missing.found():
        column = scan.missing.column
        scan.report("missing-value-as-answer", row, column, excerpt=scan.end)


def report_given_away(scan: Scan) -> None:
    """Report prompts that give their answer away, and completions that are one."""
    for words, known in scan.leaks.found():
        for row, part, char in known.spots:
            says = f"the answer follows {words!r}"
            scan.report_in(row, part, "label-in-prompt", char, says)
        for row in known.all_rows.numbers().tolist():
            scan.findings.add("label-in-prompt", row)
    for row in scan.prompted.found():
        says = "the prompt to the letter, and nothing else"
        column = scan.prompted.column
        scan.report("prompt-in-completion", row, column, -1, says, scan.end)


def report_labels(scan: Scan, *, whole: bool) -> None:
    """Report labels that a training breaks on."""
    for name, row, column, says in scan.labels.found(scan.rows, whole=whole):
        scan.report(name, row, column, says=says)


def lengths_of(scan: Scan, lengths: Lengths) -> Lengths:
    """Fill in what was counted."""
    sizes = np.array(sorted(scan.lengths), np.int64)
    rows = np.array([scan.lengths[int(value)] for value in sizes], np.int64)
    return replace(lengths, sizes=sizes, rows=rows, total=int((sizes * rows).sum()))
