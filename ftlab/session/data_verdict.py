"""What a scan of a dataset comes to: issues, lengths, and what was not looked for."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ftlab.probes.data.across.evaluation import Evaluation
from ftlab.probes.data.across.reports import (
    LEAKED,
    NEARLY,
    lengths_of,
    scanned_rows,
)
from ftlab.probes.data.files.entries import Source
from ftlab.probes.data.files.stamps import Stamps
from ftlab.probes.data.files.stopping import Stop
from ftlab.probes.data.row_sets import RowSet
from ftlab.probes.data.scan import SYSTEMS, Looks, Scan
from ftlab.probes.data.texts.characters import repairer
from ftlab.probes.data.token_counts import TokenCounter, rendered_length
from ftlab.records.data_scan import DataScan, Lengths, NearPass
from ftlab.records.printable import printable
from ftlab.records.scanned_rows import ScannedRows
from ftlab.rules.dataset_issues import issues_of


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be looked at, and how.

    Attributes
    ----------
    limit, limit_from
        Where rows are cut off, and who says so.
    near
        Whether rows that are almost the same are looked for.
    most
        How many rows are looked at; 0 for all.
    total
        How many rows there are; 0 where nobody knows.
    """

    name: str
    sources: list[Source]
    tokenizer: Any = None
    evaluation: list[Source] = field(default_factory=list)
    limit: int = 0
    limit_from: str = ""
    near: bool = True
    most: int = 0
    total: int = 0


@dataclass(slots=True)
class Going:
    """What the parts of one scan hand on to each other.

    Attributes
    ----------
    stop
        Hears Ctrl-C; another one does once all rows are read.
    """

    asked: Asked
    scan: Scan
    looks: Looks
    remarks: list[str]
    stamps: Stamps
    stop: Stop = field(default_factory=Stop)
    evaluation: Evaluation | None = None
    complete: bool = True
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """What a scan comes to.

    Attributes
    ----------
    scan
        What is shown of it.
    known
        What it has counted, for the rules.
    rows
        The rows of each kind of fault.
    stamps
        Of what was read, taken before it was.
    """

    scan: DataScan
    known: ScannedRows
    rows: dict[str, RowSet]
    stamps: Stamps


def judged(going: Going, near: NearPass | None, seconds: float) -> Judged:
    """Judge what was found."""
    asked, scan = going.asked, going.scan
    of = going.evaluation
    known = scanned_rows(
        scan,
        asked.name,
        evaluation=None if of is None else _held(of),
        meant=tuple(_meant(going)),
        total=asked.total,
    )
    shown = DataScan(
        known.name,
        known.rows,
        dict(scan.formats.most_common()),
        dict(scan.roles.most_common(20)),
        issues_of(known),
        lengths_of(scan, _about_lengths(going)),
        near,
        (*going.remarks, *_not_checked(going)),
        going.complete,
        seconds,
        going.stopped,
        tuple(map(printable, going.stamps.changed())),
    )
    return Judged(shown, known, scan.findings.rows, going.stamps)


def _held(of: Evaluation) -> dict[str, tuple[int, int]]:
    return {
        LEAKED: (len(of.held), of.count),
        NEARLY: (len(of.nearly - of.held), of.count),
    }


def _meant(going: Going) -> Iterator[str]:
    """Yield what is no fault here: as the tokenizer or most of the rows have it."""
    if _composes(going.looks.counter):
        yield "decomposed-letters"
    scan = going.scan
    if not 0 < len(scan.systems) <= SYSTEMS:
        yield "empty-system"
    if not scan.pictures:
        yield "picture-missing"
    missing = scan.findings.rows.get("missing-end-mark", ())
    if going.looks.marks.ended < len(missing):
        yield "missing-end-mark"


def _composes(counter: TokenCounter | None) -> bool:
    """Tell whether the tokenizer puts letters and accents together by itself."""
    return counter is not None and counter.ids("e\u0301 u\u0308") == counter.ids(
        "\xe9 \xfc"
    )


def _about_lengths(going: Going) -> Lengths:
    nothing = np.empty(0, np.int64)
    lengths = going.looks.lengths
    if lengths is None:
        return Lengths("characters", nothing, nothing, 0)
    rendered = [
        (rendered_length(going.asked.tokenizer, row), length)
        for row, length in (going.scan.first_rows if lengths.template else ())
    ]
    errors = [abs(known - length) for known, length in rendered if known is not None]
    return Lengths(
        "tokens",
        nothing,
        nothing,
        0,
        going.looks.limit,
        going.asked.limit_from if going.looks.limit else "",
        lengths.template,
        max(errors, default=-1),
    )


def _not_checked(going: Going) -> Iterator[str]:
    asked = going.asked
    if asked.tokenizer is None:
        yield (
            "tokens, special tokens and what is cut off: pass the tokenizer, "
            "ftlab.data(dataset, tokenizer)"
        )
    elif not asked.limit:
        yield (
            "what is cut off: pass the training's limit, "
            "ftlab.data(dataset, tokenizer, max_length=2048)"
        )
    counting = going.scan.counting
    if counting.first_refused is not None:
        number, said = counting.first_refused
        first = f"{going.scan.place(number)}: the tokenizer raised {said}"
        yield printable(f"tokens of {counting.refused:,} rows: {first}")
    if not asked.evaluation:
        yield (
            "rows of the evaluation data: pass it, ftlab.data(dataset, tokenizer, "
            "evaluation=...)"
        )
    if repairer() is None:
        yield "wrong encodings beyond U+FFFD: pip install 'ftlab[data]' brings ftfy"
    if asked.near and going.scan.texts is None:
        yield "rows that are almost the same: pip install 'ftlab[data]' brings rensa"
