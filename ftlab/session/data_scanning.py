"""Scanning a dataset from beginning to end, and judging what was found.

Who calls whom: `ftlab.data` calls `scan_sources`. It gives all rows to a `Scan`, reads
the evaluation data, compares both, and lets `data_verdict` judge.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

from ftlab.probes.data.across.evaluation import read_evaluation, report_leaks, unlike
from ftlab.probes.data.across.exchanged_sides import report_languages
from ftlab.probes.data.across.label_reports import report_labels
from ftlab.probes.data.across.moved_answers import report_moved
from ftlab.probes.data.across.near import NearRows, minhash, near_pass
from ftlab.probes.data.across.reports import (
    LEAKED,
    NEARLY,
    is_unfilled,
    report_cut_answers,
    report_divided_words,
    report_echoes,
    report_leaks_of_labels,
    report_literals,
    report_lost_letters,
    report_names,
    report_page_frames,
    report_quoted,
    report_repeated,
    report_same_prompts,
    report_sheet_dates,
    report_short_nones,
    report_solved,
    report_text_verdicts,
    report_unfilled,
    report_unplaced,
)
from ftlab.probes.data.across.varied import Varied
from ftlab.probes.data.files.entries import Broken, Entry, entries_of
from ftlab.probes.data.files.file_marks import layout_of
from ftlab.probes.data.files.stamps import Stamps
from ftlab.probes.data.files.stopping import Stop
from ftlab.probes.data.looks import Looks
from ftlab.probes.data.rare_collections import rare_collections
from ftlab.probes.data.row_sets import RowSet
from ftlab.probes.data.rows.row_parts import parts_of
from ftlab.probes.data.scan import Scan
from ftlab.probes.data.text_store import TextStore
from ftlab.probes.data.texts.foreign_marks import ForeignMarks
from ftlab.probes.data.texts.token_marks import TokenMarks
from ftlab.probes.data.token_counts import RowLengths, TokenCounter
from ftlab.probes.templates.survey import survey
from ftlab.probes.tokens.pieces import text_tokenizer
from ftlab.records.data_scan import NearPass
from ftlab.records.errors import BadValueError
from ftlab.records.printable import printable
from ftlab.records.template import TemplateFacts
from ftlab.replay.interrupts import on_interrupt
from ftlab.session.data_verdict import Asked, Going, Judged, judged

PEEKED = 100
"""Rows that are read to see what form they have."""

NEAR = "rows that are almost the same"

KNOWN = (
    "messages or conversations, prompt and completion, prompt with chosen and "
    "rejected, instruction, input and output, question and answer, context, question "
    "and answers, question with choices and answerKey, question, schema and query, "
    "document and summary, source and target, translation, en and zh_TW, premise and "
    "hypothesis, sentence1 and sentence2, anchor and positive, tokens and ner_tags, "
    "sequence, text, and input_ids"
)
"""Columns of rows that are understood, each group for names that mean the same."""

TICK = 1000
"""Rows between two steps of a progress bar."""

Tick = Callable[[int], object]


def scan_sources(asked: Asked, tick: Tick = int, tick_near: Tick = int) -> Judged:
    """Look at all rows, or as many as are asked for.

    An interrupt ends the reading, or the comparing behind it: what is known until then
    is reported.

    Parameters
    ----------
    tick, tick_near
        Called with a number of rows after these were read, and compared.

    Raises
    ------
    BadValueError
        There are no rows, or none that can be understood.
    """
    began = time.perf_counter()
    going = _prepared(asked)
    try:
        with on_interrupt(lambda: going.stop.heard()):
            with rare_collections():
                _read(going, tick)
            _check_readable(going)
            seconds = time.perf_counter() - began
            going.stop = Stop()
            _read_evaluation(going)
            _compare(going)
            near = _near(going, tick_near) if going.complete else None
            return judged(going, near, seconds)
    finally:
        going.scan.close()
        if going.evaluation is not None and going.evaluation.texts is not None:
            going.evaluation.texts.close()


def _prepared(asked: Asked) -> Going:
    stamps = Stamps(asked.sources)
    remarks: list[str] = []
    counter = None if asked.tokenizer is None else TokenCounter(asked.tokenizer)
    facts = _facts(asked, remarks)
    lengths = None
    if counter is not None:
        inner = text_tokenizer(asked.tokenizer)
        added = getattr(inner, "num_special_tokens_to_add", int)()
        lengths = RowLengths(counter, facts, added)
    looks = Looks(
        TokenMarks(asked.tokenizer, facts),
        counter,
        lengths,
        asked.limit if counter is not None else 0,
        bool(asked.evaluation),
        asked.near and minhash() is not None,
        ForeignMarks(asked.tokenizer, facts),
    )
    return Going(asked, Scan(asked.sources, looks), looks, remarks, stamps)


def _facts(asked: Asked, remarks: list[str]) -> TemplateFacts | None:
    """Survey the chat template where the rows are conversations."""
    first = (entry for _, entry in islice(entries_of(asked.sources), PEEKED))
    rows = (parts_of(e.value) for e in first if not isinstance(e.value, Broken))
    if asked.tokenizer is None or not any(row.kind == "messages" for row in rows):
        return None
    facts = survey(asked.tokenizer)
    if facts.refused is not None:
        remarks.append(f"the chat template's own tokens: {facts.refused}")
    return facts


def _read(going: Going, tick: Tick) -> None:
    """Read all rows, or up to where somebody stops it: none is left half counted."""
    scan = going.scan
    told = 0
    for source, entry in going.stop.rows(_wanted(going.asked)):
        scan.take(source, entry)
        if scan.rows - told >= TICK:
            tick(scan.rows - told)
            told = scan.rows
    going.complete = not going.stop.asked
    tick(scan.rows - told)
    scan.finish()


def _wanted(asked: Asked) -> Iterator[tuple[int, Entry]]:
    return islice(entries_of(asked.sources), asked.most or None)


def _check_readable(going: Going) -> None:
    scan = going.scan
    if not scan.rows and not going.complete:
        raise KeyboardInterrupt  # nobody waits for an answer about no rows
    if not scan.rows:
        msg = "The dataset has no rows."
        raise BadValueError(msg)
    unread = scan.findings.spots.get("unreadable-row", [])
    if unread and not scan.formats:
        first = going.asked.sources[0]
        of = f" of {printable(first.path)}" if first.path else ""
        msg = f"No row{of} can be read: {unread[0]!r}. {layout_of(unread[0].excerpt)}"
        raise BadValueError(msg)
    if set(scan.formats) == {""}:
        spot = scan.findings.spots["unknown-columns"][0]
        msg = (
            f"No row is recognised: {spot.says}. Known columns are {KNOWN}: "
            "dataset.rename_columns({'...': 'text'}), or dataset.map(lambda row: "
            "{'messages': ...})."
        )
        raise BadValueError(msg)


def _read_evaluation(going: Going) -> None:
    if not going.asked.evaluation:
        return
    texts = TextStore() if going.looks.texts else None
    read = read_evaluation(going.asked.evaluation, texts, going.stop)
    going.evaluation = read
    going.stopped |= read.stopped
    other = unlike(going.scan, read)
    going.remarks += [*read.remarks, *([other] if other else [])]


def _compare(going: Going) -> None:
    """Find what only all rows together tell: copies, and what answers share."""
    scan, evaluation = going.scan, going.evaluation
    first_only = going.asked.most > 0 and scan.rows != going.asked.total
    whole = going.complete and not first_only
    steps: list[Callable[[], object]] = [
        lambda: report_unfilled(scan),
        lambda: report_repeated(scan),
        lambda: report_leaks_of_labels(scan),
        lambda: report_cut_answers(scan),
        lambda: report_echoes(scan),
        lambda: report_unplaced(scan),
        lambda: report_same_prompts(scan),
        lambda: report_names(scan),
        lambda: report_quoted(scan),
        lambda: report_short_nones(scan),
        lambda: report_sheet_dates(scan),
        lambda: report_solved(scan),
        lambda: report_text_verdicts(scan),
        lambda: report_literals(scan),
        lambda: report_divided_words(scan),
        lambda: report_page_frames(scan),
        lambda: report_lost_letters(scan),
        lambda: report_moved(scan),
        lambda: report_languages(scan),
        lambda: report_labels(scan, whole=whole),
    ]
    if evaluation is not None:
        steps.append(lambda: report_leaks(scan, evaluation))
    for step in steps:
        if going.stop.asked and not going.stopped:
            _leave_out(going, "what all rows together tell")
            return
        step()


def _leave_out(going: Going, what: str) -> None:
    going.stopped = True
    going.remarks.append(f"{what}: stopped before the end")


def _near(going: Going, tick: Tick) -> NearPass | None:
    scan = going.scan
    if scan.texts is None:
        return None
    if going.stop.asked:
        _leave_out(going, NEAR)
        return None
    copies = scan.findings.rows.get("duplicate-row", RowSet())
    # behind the rows that are trained on, so that each pair names one of these
    for text in (going.evaluation and going.evaluation.texts) or ():
        scan.texts.append(text)
    report = partial(_report_near, going, Varied(scan.texts, scan.rows))
    try:
        ticked = going.stop.checked(tick)
        return near_pass(NearRows(scan.texts, copies), report, ticked)
    except KeyboardInterrupt:
        _leave_out(going, NEAR)
        return None


def _report_near(
    going: Going, varied: Varied, row: int, other: int, similarity: float
) -> None:
    scan = going.scan
    if row in scan.findings.rows.get("labels-contradict", ()):
        return  # which of the two is right, nobody knows
    if row < scan.rows and is_unfilled(scan, row):
        return
    if row < scan.rows:
        says = f"{similarity:.0%} the same as {scan.place(other)}"
        scan.report("near-duplicate", row, says=says, excerpt=scan.beginning)
    elif other < scan.rows and going.evaluation is not None:
        same = similarity == 1 or varied.holds(other, row)
        if not same and varied.tells_apart(other, row):
            return
        evaluation, of = going.evaluation, row - scan.rows
        (evaluation.held if same else evaluation.nearly).add(of)
        says = f"{similarity:.0%} the same as {evaluation.place(of)}"
        name = LEAKED if same else NEARLY
        scan.report(name, other, says=says, excerpt=scan.beginning)
