"""The rows of the evaluation data, as far as a training must not hold them."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ftlab.probes.data.files.entries import Broken, Entry, Source
from ftlab.probes.data.files.stopping import Stop
from ftlab.probes.data.places import Places
from ftlab.probes.data.rows.formats import parts_of
from ftlab.probes.data.rows.parts import RowParts
from ftlab.probes.data.rows.row_keys import KeyFile, prompt_key, row_key
from ftlab.probes.data.scan import Scan
from ftlab.probes.data.text_store import TextStore, compared
from ftlab.records.printable import printable

OF = "rows of the evaluation data"

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
    tokens
        Rows that are ids of tokens.
    stopped
        Whether there are more rows than were read.
    remarks
        What could not be compared, and why.
    held
        Rows that the training holds too, as far as they are known.
    nearly
        Rows that are almost like one that is trained on.
    places
        Where each row is.
    """

    count: int
    rows: Known
    prompts: Known
    places: Places
    texts: TextStore | None = None
    tokens: int = 0
    stopped: bool = False
    remarks: tuple[str, ...] = ()
    held: set[int] = field(default_factory=set)
    nearly: set[int] = field(default_factory=set)

    def place(self, row: int) -> str:
        """Return where a row is, and that it is one of these."""
        return f"{self.places[row]} of the evaluation data"


@dataclass(slots=True)
class _Part:
    """What one source of the evaluation data has given."""

    rows: int = 0
    lost: int = 0
    tokens: int = 0
    why: str = ""


class _Reader:
    """Goes through the evaluation data once."""

    def __init__(self, texts: TextStore | None, places: Places) -> None:
        self.places = places
        self.rows: list[tuple[int, int]] = []
        self.prompts: list[tuple[int, int]] = []
        self.count = 0
        self._texts = texts

    def take(self, source: int, entry: Entry, part: _Part) -> None:
        """Keep the keys of a row."""
        value = entry.value
        self.places.add(self.count, source, entry.at)
        lost = value.rows if isinstance(value, Broken) else 1
        read = RowParts("") if isinstance(value, Broken) else parts_of(value)
        whole = read.kind == "tokens" or any(each.text.strip() for each in read.parts)
        if whole:
            self.rows.append((row_key(read), self.count))
        if (asked := prompt_key(read) if whole else None) is not None:
            self.prompts.append((asked, self.count))
        part.tokens += read.kind == "tokens"
        if not read.kind:
            part.lost += lost
            part.why = part.why or _why(value, read)
        if self._texts is not None:
            for _ in range(lost):
                self._texts.append(compared(read))
        self.count += lost
        part.rows += lost


def _why(value: object, read: RowParts) -> str:
    return value.says if isinstance(value, Broken) else read.faults[0][2]


def read_evaluation(
    sources: list[Source], texts: TextStore | None, stop: Stop | None = None
) -> Evaluation:
    """Read the evaluation data: 16 bytes of each row are kept in memory.

    What cannot be read, or not be understood, is remarked.
    """
    reader, remarks, tokens = _Reader(texts, Places(sources)), [], 0
    stop = stop or Stop()
    for number, source in enumerate(sources):
        part = _Part()
        for entry in stop.rows(source.read()):
            reader.take(number, entry, part)
        name = printable(source.name or "the dataset")
        tokens += part.tokens
        if stop.asked:
            remarks.append(f"{OF}: stopped in {name} behind {reader.count:,} rows")
            break
        if not part.rows:
            remarks.append(f"{OF}: {name} holds no rows")
        elif part.lost:
            said = f"{part.lost:,} of {part.rows:,} rows of {name} cannot be read"
            remarks.append(printable(f"{OF}: {said}: {part.why}"))
    known = _known(reader.rows), _known(reader.prompts), reader.places
    return Evaluation(reader.count, *known, texts, tokens, stop.asked, tuple(remarks))


def unlike(scan: Scan, evaluation: Evaluation) -> str:
    """Say whether one side holds ids of tokens and the other one texts."""
    texts = evaluation.count - evaluation.tokens
    if evaluation.tokens and "tokens" not in scan.formats:
        return (
            f"{OF}: {evaluation.tokens:,} are ids of tokens, and those trained on texts"
        )
    if texts and set(scan.formats) <= {"tokens", ""}:
        return f"{OF}: {texts:,} are texts, and those trained on ids of tokens"
    return ""


def _known(pairs: list[tuple[int, int]]) -> Known:
    table = np.array(pairs, np.int64).reshape(-1, 2)
    keys, first = np.unique(table[:, 0], return_index=True)
    return Known(keys, table[first, 1])


def report_leaks(scan: Scan, evaluation: Evaluation) -> None:
    """Report the rows that the evaluation data holds too."""
    for row, of in _among(scan.keys, evaluation.rows):
        evaluation.held.add(of)
        says = evaluation.place(of)
        scan.report("leaked-evaluation-row", row, says=says)
    leaked = scan.findings.rows.get("leaked-evaluation-row", ())
    if scan.prompts is not None:
        for row, of in _among(scan.prompts, evaluation.prompts):
            if row not in leaked:
                says = f"the prompt of {evaluation.place(of)}"
                scan.report("leaked-evaluation-prompt", row, says=says)


def _among(keys: KeyFile, known: Known) -> Iterator[tuple[int, int]]:
    for rows, places in keys.among(known.keys):
        yield from zip(rows.tolist(), known.rows[places].tolist(), strict=True)
