"""Scanning a dataset from beginning to end, and judging what was found.

Who calls whom: `ftlab.data` calls `scan_sources`. It reads the evaluation data, gives
all rows to a `Scan`, compares them afterwards, and lets `data_verdict` judge.
"""

import threading
import time
from collections.abc import Callable, Iterator
from itertools import islice

from ftlab.probes.data.across_rows import (
    report_cut_answers,
    report_leaks_of_labels,
    report_names,
    report_repeated,
)
from ftlab.probes.data.entries import Broken, Entry
from ftlab.probes.data.evaluation import read_evaluation, report_leaks
from ftlab.probes.data.label_reports import report_labels
from ftlab.probes.data.near import NearRows, minhash, near_pass
from ftlab.probes.data.row_parts import parts_of
from ftlab.probes.data.row_sets import RowSet
from ftlab.probes.data.scan import Looks, Scan, entries_of
from ftlab.probes.data.text_store import TextStore
from ftlab.probes.data.token_counts import RowLengths, TokenCounter
from ftlab.probes.data.token_marks import TokenMarks
from ftlab.probes.templates.survey import survey
from ftlab.probes.tokens.pieces import text_tokenizer
from ftlab.records.data_scan import NearPass
from ftlab.records.errors import BadValueError
from ftlab.records.template import TemplateFacts
from ftlab.replay.interrupts import on_interrupt
from ftlab.session.data_verdict import Asked, Going, Judged, judged

PEEKED = 100
"""Rows that are read to see what form they have."""

TICK = 1000
"""Rows between two steps of a progress bar."""

Tick = Callable[[int], object]


def scan_sources(asked: Asked, tick: Tick = int, tick_near: Tick = int) -> Judged:
    """Look at all rows, or as many as are asked for.

    An interrupt ends the reading: what was read until then is reported.

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
        _read(going, tick)
        _check_readable(going.scan)
        seconds = time.perf_counter() - began
        _compare(going)
        near = _near(going, tick_near) if going.complete else None
        return judged(going, near, seconds)
    finally:
        going.scan.close()
        if going.evaluation is not None and going.evaluation.texts is not None:
            going.evaluation.texts.close()


def _prepared(asked: Asked) -> Going:
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
    )
    evaluation = None
    if asked.evaluation:
        texts = TextStore() if looks.texts else None
        evaluation = read_evaluation(asked.evaluation, texts)
    return Going(asked, Scan(asked.sources, looks), looks, remarks, evaluation)


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
    stopped = threading.Event()
    told = 0
    with on_interrupt(stopped.set):
        for source, entry in _wanted(going.asked):
            scan.take(source, entry)
            if scan.rows - told >= TICK:
                tick(scan.rows - told)
                told = scan.rows
            if stopped.is_set():
                going.complete = False
                break
    tick(scan.rows - told)
    scan.finish()


def _wanted(asked: Asked) -> Iterator[tuple[int, Entry]]:
    return islice(entries_of(asked.sources), asked.most or None)


def _check_readable(scan: Scan) -> None:
    if not scan.rows:
        msg = "The dataset has no rows."
        raise BadValueError(msg)
    unread = scan.findings.spots.get("unreadable-row", [])
    if unread and not scan.formats:
        msg = f"No row can be read: {unread[0]!r}."
        raise BadValueError(msg)
    if set(scan.formats) == {""}:
        spot = scan.findings.spots["unknown-columns"][0]
        msg = (
            f"No row is understood: {spot.says}. Known are messages or conversations, "
            "prompt and completion, prompt with chosen and rejected, instruction, "
            "input and output, question and answer, text, and input_ids: "
            "dataset.map(lambda row: {'messages': ...})."
        )
        raise BadValueError(msg)


def _compare(going: Going) -> None:
    """Find what only all rows together tell: copies, and what answers share."""
    report_repeated(going.scan)
    report_leaks_of_labels(going.scan)
    report_cut_answers(going.scan)
    report_names(going.scan)
    asked = going.asked
    first_only = asked.most > 0 and going.scan.rows != asked.total
    report_labels(going.scan, whole=going.complete and not first_only)
    if going.evaluation is not None:
        report_leaks(going.scan, going.evaluation)


def _near(going: Going, tick: Tick) -> NearPass | None:
    scan = going.scan
    if scan.texts is None:
        return None
    copies = scan.findings.rows.get("duplicate-row", RowSet())
    unsure = scan.findings.rows.get("labels-contradict", RowSet())
    # behind the rows that are trained on, so that each pair names one of these
    for text in (going.evaluation and going.evaluation.texts) or ():
        scan.texts.append(text)

    def report(row: int, other: int, similarity: float) -> None:
        if row in unsure:  # which of the two is right, nobody knows
            return
        if row < scan.rows:
            says = f"{similarity:.0%} the same as {scan.place(other)}"
            scan.report("near-duplicate", row, says=says, excerpt=scan.beginning)
        elif other < scan.rows and going.evaluation is not None:
            going.evaluation.held.add(row - scan.rows)
            of = f"row {row - scan.rows} of the evaluation data"
            says = f"{similarity:.0%} the same as {of}"
            scan.report(
                "leaked-evaluation-row", other, says=says, excerpt=scan.beginning
            )

    try:
        return near_pass(NearRows(scan.texts, copies), report, tick)
    except KeyboardInterrupt:
        going.remarks.append("rows that are almost the same: stopped before the end")
        return None
