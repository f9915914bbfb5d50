"""The rows of the evaluation data, as far as a training must not hold them."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ftlab.probes.data.entries import Broken, Source
from ftlab.probes.data.row_keys import KeyFile, prompt_key, row_key
from ftlab.probes.data.row_parts import RowParts, parts_of
from ftlab.probes.data.scan import Scan
from ftlab.probes.data.text_store import TextStore, compared

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Known:
    """Keys in ascending order, and the row of each."""

    keys: Numbers
    rows: Numbers


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Keys of the evaluation rows, and of their prompts.

    Attributes
    ----------
    texts
        Of all rows, to be compared; ``None`` where nobody asked.
    held
        Rows that the training holds too, as far as they are known.
    """

    count: int
    rows: Known
    prompts: Known
    texts: TextStore | None = None
    held: set[int] = field(default_factory=set)


def read_evaluation(sources: list[Source], texts: TextStore | None) -> Evaluation:
    """Read the evaluation data: 16 bytes of each row are kept in memory."""
    rows: list[tuple[int, int]] = []
    prompts: list[tuple[int, int]] = []
    count = 0
    for source in sources:
        for entry in source.read():
            broken = isinstance(entry.value, Broken)
            read = RowParts("") if broken else parts_of(entry.value)
            rows.append((row_key(read) if read.parts else hash(("", count)), count))
            asked = prompt_key(read)
            if asked is not None:
                prompts.append((asked, count))
            if texts is not None:
                texts.append(compared(read))
            count += 1
    return Evaluation(count, _known(rows), _known(prompts), texts)


def _known(pairs: list[tuple[int, int]]) -> Known:
    table = np.array(pairs, np.int64).reshape(-1, 2)
    keys, first = np.unique(table[:, 0], return_index=True)
    return Known(keys, table[first, 1])


def report_leaks(scan: Scan, evaluation: Evaluation) -> None:
    """Report the rows that the evaluation data holds too."""
    for row, of in _among(scan.keys, evaluation.rows):
        evaluation.held.add(of)
        says = f"row {of} of the evaluation data"
        scan.report("leaked-evaluation-row", row, says=says)
    leaked = scan.findings.rows.get("leaked-evaluation-row", ())
    if scan.prompts is not None:
        for row, of in _among(scan.prompts, evaluation.prompts):
            if row not in leaked:
                says = f"the prompt of row {of} of the evaluation data"
                scan.report("leaked-evaluation-prompt", row, says=says)


def _among(keys: KeyFile, known: Known) -> Iterator[tuple[int, int]]:
    for rows, places in keys.among(known.keys):
        yield from zip(rows.tolist(), known.rows[places].tolist(), strict=True)
