"""Scanning a dataset from beginning to end, and judging what was found.

Who calls whom: `ftlab.data` calls `scan_sources`. It gives all rows to a `Scan`, reads
the evaluation data, compares both, and lets `data_verdict` judge.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

from ftlab.probes.data.across.evaluation import read_evaluation, report_leaks, unlike
from ftlab.probes.data.across.near import NearRows, minhash, near_pass
from ftlab.probes.data.across.reports import (
    LEAKED,
    NEARLY,
    report_answers,
    report_given_away,
    report_labels,
    report_repeated,
)
from ftlab.probes.data.files.entries import Broken, Entry, entries_of
from ftlab.probes.data.files.file_marks import layout_of
from ftlab.probes.data.files.stamps import Stamps
from ftlab.probes.data.files.stopping import Stop
from ftlab.probes.data.row_sets import RowSet
from ftlab.probes.data.rows.formats import parts_of
from ftlab.probes.data.scan import Looks, Scan
from ftlab.probes.data.text_store import TextStore
from ftlab.probes.data.texts.special_tokens import SpecialTokens
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
    "rejected, instruction, input and output, question and answer, document and "
    "summary, source and target, text, texts beside a label, and input_ids"
)
"""Columns of rows that are understood."""

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
        SpecialTokens(asked.tokenizer, facts),
        counter,
        lengths,
        asked.limit if counter is not None else 0,
        bool(asked.evaluation),
        asked.near and minhash() is not None,
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
        lambda: report_repeated(scan),
        lambda: report_answers(scan),
        lambda: report_given_away(scan),
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
    report = partial(_report_near, going)
    try:
        ticked = going.stop.checked(tick)
        return near_pass(NearRows(scan.texts, copies), report, ticked)
    except KeyboardInterrupt:
        _leave_out(going, NEAR)
        return None


def _report_near(going: Going, row: int, other: int, similarity: float) -> None:
    scan, evaluation = going.scan, going.evaluation
    says = f"{similarity:.0%} the same as "
    if row < scan.rows:
        says += scan.place(other)
        scan.report("near-duplicate", row, says=says, excerpt=scan.beginning)
    elif other < scan.rows and evaluation is not None:
        same, of = similarity == 1, row - scan.rows
        (evaluation.held if same else evaluation.nearly).add(of)
        name = LEAKED if same else NEARLY
        says += evaluation.place(of)
        scan.report(name, other, says=says, excerpt=scan.beginning)
