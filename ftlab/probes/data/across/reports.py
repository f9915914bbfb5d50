"""What only all rows together tell: copies, what answers share, and the lengths."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ftlab.probes.data.across import divided_words
from ftlab.probes.data.files.entries import excerpt_of
from ftlab.probes.data.scan import Scan
from ftlab.probes.data.texts.secrets import without_secrets
from ftlab.records.data_scan import Lengths
from ftlab.records.printable import printable
from ftlab.records.scanned_rows import FoundRows, ScannedRows

LEAKED, NEARLY = "leaked-evaluation-row", "almost-evaluation-row"

UNFILLED = ("unfilled-prompt", "field-in-all-prompts")
"""Prompts that are alike because a field was not filled in."""

UNPLACED = 0.1
"""Pictures without a place for each one with it, above which this is a form, too."""

NEARLY_ALL, FEWEST = 0.9, 50
"""Share of the rows that make a form the usual one, and rows from which on."""


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


def report_unfilled(scan: Scan) -> None:
    """Report the prompts with a field of a template, where others have a text."""
    for name, field, rows, spots in scan.fields.found(scan.rows):
        for row, part, char in spots:
            scan.report_in(row, part, name, char, repr(field))
        for row in rows.numbers().tolist():
            scan.findings.add(name, row)


def is_unfilled(scan: Scan, row: int) -> bool:
    """Tell whether a prompt has a field: it is like others for no other reason."""
    return any(row in scan.findings.rows.get(name, ()) for name in UNFILLED)


def report_repeated(scan: Scan) -> None:
    """Report the rows that say what an earlier one says."""
    for rows, firsts in scan.keys.repeated():
        for row, first in zip(rows.tolist(), firsts.tolist(), strict=True):
            if is_unfilled(scan, row):
                continue
            says = f"the same as {scan.place(first)}"
            scan.report("duplicate-row", row, says=says, excerpt=scan.beginning)


def report_cut_answers(scan: Scan) -> None:
    """Report answers that break off at the same length as others."""
    found = scan.answers.found()
    if found is None:
        return
    unit, cut = found
    says = f"breaks off at {cut.length:,} {unit}"
    says += f", as {cut.broken:,} of {cut.answers:,} do there"
    for row in cut.rows:
        scan.report("answer-of-cut-length", row, says=says, excerpt=scan.end)


def report_quoted(scan: Scan) -> None:
    """Report answers that are texts of JSON with their quotes, if nearly all are.

    Single ones may be quotations; an escape in some of them proves the form.
    """
    quoted = scan.habits.quoted
    least = max(FEWEST, NEARLY_ALL * scan.rows)
    if len(quoted) >= least and scan.habits.escaped:
        for row in quoted.numbers().tolist():
            says = "a text in JSON's quotes, as nearly all answers are"
            scan.report("escaped-text", row, says=says, excerpt=scan.beginning)


def report_literals(scan: Scan) -> None:
    """Report answers that are values of Python, or nothing, where JSON is wanted."""
    wrapped = scan.findings.rows.get("wrapped-answer", ())
    for row in scan.literals.found().numbers().tolist():
        if row not in wrapped:
            says = "ast.literal_eval reads it, and json.loads does not"
            scan.report("python-as-json", row, says=says, excerpt=scan.end)
    broken = scan.literals.broken
    if len(broken.found()):
        for number, part, char, says in broken.spots:
            scan.report_in(number, part, "json-broken", char, says)
        scan.findings.update("json-broken", broken.found())


def report_short_nones(scan: Scan) -> None:
    """Report answers of one word that says nothing, where nearly all are long.

    Where most are short, a value that programs alone write is none of these.
    """
    if scan.answers.mostly_short and scan.nones.among_short(scan.labels):
        scan.findings.keep_only("missing-value-as-answer", scan.nones.values)
    if scan.answers.nearly_all_long and scan.rows >= FEWEST:
        for row, name, said in scan.nones.found():
            scan.report(name, row, says=repr(said))


def report_sheet_dates(scan: Scan) -> None:
    """Report answers that are dates, where others are fractions or ranges."""
    for row, said in scan.dates.found():
        scan.report("date-for-number", row, says=repr(said), excerpt=scan.end)


def report_lost_letters(scan: Scan) -> None:
    """Report texts of question marks among those of another script.

    An answer that was no more than that is told as this alone.
    """
    rows = scan.lost.found()
    for row, part, char in scan.lost.spots:
        if row in rows:
            says = "question marks, where other rows have letters"
            scan.report_in(row, part, "broken-encoding", char, says)
    scan.findings.update("broken-encoding", rows)
    scan.findings.leave_out("answer-without-words", rows)


def report_page_frames(scan: Scan) -> None:
    """Report lines of the pages that texts were taken from."""
    for frame in scan.frames.found():
        says = f"as {len(frame.rows):,} texts have it"
        for row, char, line in frame.places:
            shown = excerpt_of(without_secrets(line), 0)
            scan.report("page-around-text", row, "text", char, says, shown)
        scan.findings.update("page-around-text", frame.rows)


def report_divided_words(scan: Scan) -> None:
    """Report single words that are divided, where many rows have several."""
    known = len(scan.findings.rows.get("hyphenated-lines", ()))
    least = max(divided_words.FEWEST, divided_words.SHARE * scan.rows)
    if scan.texts is None or known < least:
        return
    for each in scan.divided.among(scan.texts):
        says = repr(f"{each.first}-\\n{each.second}")
        shown = excerpt_of(without_secrets(f"{each.first}-\n{each.second}"), 0)
        scan.report("hyphenated-lines", each.row, each.where, each.char, says, shown)


def report_echoes(scan: Scan) -> None:
    """Report answers that are their whole input again, where no others are like it."""
    says, excerpt = "the input to the letter", scan.beginning
    for row in scan.echoes.found():
        scan.report("input-as-answer", row, scan.echoes.column, -1, says, excerpt)
    for row in scan.instructed.found():
        scan.report("input-as-answer", row, "output", -1, says, excerpt)


def report_solved(scan: Scan) -> None:
    """Report prompts that end with their solution, where others do not."""
    for row in scan.solved.found():
        says = "the solution is its end"
        scan.report("solution-in-prompt", row, scan.solved.column, says=says)


def report_same_prompts(scan: Scan) -> None:
    """Report completions that are their prompt, where no others are like theirs."""
    for row in scan.repeats.found():
        says = "the prompt to the letter, and nothing else"
        column = scan.repeats.column
        scan.report("prompt-in-completion", row, column, -1, says, scan.end)


def report_text_verdicts(scan: Scan) -> None:
    """Report labels that judge a completion, and are texts."""
    for row in scan.verdicts.found():
        scan.report("verdict-as-text", row, "label", says="a text: always true")


def report_leaks_of_labels(scan: Scan) -> None:
    """Report the places at which prompts give their answer away."""
    for words, known in (*scan.leaks.found(), *scan.given.found()):
        for row, part, char in known.spots:
            says = f"the answer follows {words!r}"
            scan.report_in(row, part, "label-in-prompt", char, says)
        for row in known.all_rows.numbers().tolist():
            scan.findings.add("label-in-prompt", row)


def report_unplaced(scan: Scan) -> None:
    """Report pictures without a place, where nearly all others have one."""
    habits = scan.habits
    if habits.placed < FEWEST or len(habits.unplaced) > UNPLACED * habits.placed:
        return
    says = f"a picture, and no place, as {habits.placed:,} other rows have it"
    for row in habits.unplaced.numbers().tolist():
        scan.report("picture-not-placed", row, says=says, excerpt=scan.beginning)


def report_names(scan: Scan) -> None:
    """Report the speakers who have another name in most rows."""
    for name, usual, rows in scan.habits.named_otherwise():
        for row in rows:
            says = f"{name!r}, who is {usual!r} in other rows"
            scan.report("speaker-named-otherwise", row, says=says)


def lengths_of(scan: Scan, lengths: Lengths) -> Lengths:
    """Fill in what was counted."""
    sizes = np.array(sorted(scan.lengths), np.int64)
    rows = np.array([scan.lengths[int(value)] for value in sizes], np.int64)
    return replace(lengths, sizes=sizes, rows=rows, total=int((sizes * rows).sum()))
