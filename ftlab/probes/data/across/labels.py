"""The label of each row: a column of classes, or a short answer; and long answers.

Who calls whom: `Scan` gives each row to `Labels.add`. `label_reports` asks afterwards,
once all rows are known.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ftlab.probes.data.answers.answer_faults import is_answer
from ftlab.probes.data.row_sets import RowSet
from ftlab.probes.data.rows.parts import Part, RowParts
from ftlab.probes.data.rows.row_keys import KeyFile, prompt_of

LONGEST, LONG = 40, 60
"""Characters up to which an answer may be a label, and from which on it is long."""

KNOWN, TRIED = 1000, 1000
"""Labels beyond which there are no classes, and rows after which that is judged."""

NEARLY_ALL = 0.95
"""Share of the rows that have a label where there are classes."""

CLASSES, PER_CLASS = 100, 10
"""How many classes there may be, and how many rows each has on average."""

NONE = -1
"""What stands for a label that a row does not have."""

_TAGS = re.compile(
    r"\W*(?:(?:[BIESLU]-[\w.-]+|[A-Z0-9_$]{1,6}|[.,:])(?:[\s,;'\"]+|\Z)){5}"
)
"""A tag for each word: short sentences that ask for different things may share them."""

_ASIDE = frozenset(
    {"id", "idx", "index", "uid", "uuid", "hash", "source", "split", "date"}
    | {"annotator", "label", "labels", "gold_label", "is_duplicate"}
)
"""Columns that decide on no label."""

_LABELED = ("label", "labels", "gold_label", "is_duplicate")
"""Columns that hold a label, in the order in which they are tried."""

WORD = 40
"""Characters of a word in brackets."""

_OPEN, _CLOSED = tuple("[(<{|"), frozenset("])>}|:")


class Label(NamedTuple):
    """What a row is to be answered with.

    Attributes
    ----------
    asked
        What it answers; ``None`` where more than texts says it.
    """

    text: str
    asked: tuple[str, ...] | None


class Labels:
    """Watches labels and answers.

    Attributes
    ----------
    counts
        Rows of each label, as it is spelt.
    open
        Whether there are more labels than classes can be; none is counted then.
    rows, runs
        How many rows there are, and stretches of them with one label.
    long, labels, asked
        Keys of long answers, of labels, and of what they answer, row by row; the last
        two are ``None`` where the answers are no labels.
    bracketed
        Rows whose text begins with the label in brackets.
    begun, words
        Rows whose text begins with some word in brackets; by this and the label, how
        many have both.
    unlabelled
        Rows whose label is -1.

    Examples
    --------
    >>> from ftlab.probes.data.across.labels import Labels
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> labels = Labels()
    >>> for at in range(60):
    ...     row = {"text": f"Text {at}.", "label": at % 2}
    ...     labels.add(row, parts_of(row))
    >>> labels.counts, labels.classes, labels.runs
    (Counter({'0': 30, '1': 30}), ['0', '1'], 60)
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.rows = self.runs = 0
        self.open = False
        self.long = KeyFile()
        self.labels: KeyFile | None = KeyFile()
        self.asked: KeyFile | None = KeyFile()
        self.bracketed, self.unlabelled = RowSet(), RowSet()
        self.begun = RowSet()
        self.words: Counter[tuple[str, str]] = Counter()
        self._last = ""

    def add(self, row: Mapping[str, Any], read: RowParts | None) -> None:
        """Take the next row in."""
        label = label_of(row, read) if read is not None else None
        if label is None and row.get("label") == NONE and type(row["label"]) is int:
            self.unlabelled.add(self.rows)
        size = 0 if label is None else len(label.text)
        own = hash(("no label", self.rows))
        long = label is not None and size >= LONG and not _TAGS.match(label.text)
        self.long.append(hash(label.text) if label and long else own)
        known = label if size <= LONGEST else None
        if self.labels is not None and self.asked is not None:
            self.labels.append(hash(known.text) if known else own)
            asked = known.asked if known else None
            self.asked.append(own if asked is None else hash(asked))
        if known is not None and not self.open:
            self._count(known)
        self.rows += 1
        if self.rows == TRIED and self.counts.total() < TRIED / 2:
            self._give_up()

    def _count(self, label: Label) -> None:
        text = label.text
        self.counts[text] += 1
        self.runs += text != self._last or self.runs == 0
        self._last = text
        if label.asked and label.asked[0].startswith(_OPEN):
            self._look_at_brackets(label.asked[0], text)
        if len(self.counts) > KNOWN:
            self.open = True
            self.counts.clear()
            self._give_up()

    def _look_at_brackets(self, text: str, label: str) -> None:
        if _is_bracketed(text, label):
            self.bracketed.add(self.rows)
        word = _bracketed_word(text)
        if word and (len(self.words) < KNOWN or (word, label) in self.words):
            self.begun.add(self.rows)
            self.words[word, label] += 1

    def _give_up(self) -> None:
        self.close(all_of_them=False)
        self.labels = self.asked = None

    @property
    def classes(self) -> list[str]:
        """The labels where nearly all rows have one of a few; else none."""
        if self.counts.total() < NEARLY_ALL * self.rows:
            return []
        spelt = {spelling(text) for text in self.counts}
        few = len(spelt) <= min(CLASSES, max(2, self.rows / PER_CLASS))
        return list(self.counts) if few else []

    def close(self, *, all_of_them: bool = True) -> None:
        """Let the files go."""
        held = (self.labels, self.asked, self.long if all_of_them else None)
        for file in held:
            if file is not None:
                file.close()


def spelling(label: str) -> str:
    """Return what spellings of one label have in common."""
    return label.strip().casefold()


def _is_bracketed(text: str, label: str) -> bool:
    begin = text[1 : 2 + len(label)]
    return begin[-1:] in _CLOSED and begin[:-1].casefold() == label.casefold()


def _bracketed_word(text: str) -> str:
    """Return what stands in brackets at the beginning, if that is a word."""
    for at in range(1, min(len(text), WORD)):
        if text[at] in _CLOSED:
            return text[1:at].casefold()
        if not (text[at].isalpha() or text[at] in "_-& "):
            return ""
    return ""


def _says_more(row: Mapping[str, Any], read: RowParts) -> bool:
    """Tell whether a row has columns that may decide on its label, and are not read."""
    known = {part.column for part in read.parts}
    return any(part.says_more for part in read.parts) or not all(
        name in known or name in _ASIDE or row[name] is None for name in row
    )


def label_of(row: Mapping[str, Any], read: RowParts) -> Label | None:
    """Return a row's label, or its last answer; ``None`` where it has neither.

    Examples
    --------
    >>> from ftlab.probes.data.across.labels import label_of
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> row = {"prompt": "1+1?", "completion": "2"}
    >>> label_of(row, parts_of(row))
    Label(text='2', asked=('1+1?',))
    """
    if read.kind == "text":
        label = next((row[name] for name in _LABELED if name in row), None)
        plain = isinstance(label, str | int) and label != NONE
        return Label(str(label), _asked(row, read, read.parts)) if plain else None
    if read.kind not in ("messages", "prompt and answer") or not read.parts:
        return None
    if isinstance(row.get("label"), bool):
        whole = read.parts if read.beside is None else ()
        return Label(str(row["label"]), _asked(row, read, whole))
    last = read.parts[-1]
    if not is_answer(last) or last.says_more or not last.text:
        return None
    if prompt_of(read.parts) is None:
        return None
    short = len(last.text) <= LONGEST and read.beside is None
    return Label(last.text, _asked(row, read, read.parts[:-1] if short else ()))


def _asked(
    row: Mapping[str, Any], read: RowParts, parts: Sequence[Part]
) -> tuple[str, ...] | None:
    """Return texts where nothing but these decides on a label."""
    if not parts or _says_more(row, read):
        return None
    return tuple([part.text for part in parts])
