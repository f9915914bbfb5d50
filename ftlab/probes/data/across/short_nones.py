"""Answers of one word that may say nothing: judged once all answers are known."""

import re
from collections.abc import Iterator

from ftlab.probes.data.across.labels import Labels
from ftlab.probes.data.answers.answer_faults import is_answer
from ftlab.probes.data.answers.rejected import last_wanted
from ftlab.probes.data.row_sets import RowSet
from ftlab.probes.data.rows.parts import RowParts

LONGEST = 8
"""Characters up to which a text is looked at."""

_WORDS = {
    **dict.fromkeys(
        ("None", "none", "null", "NULL", "Null"), "missing-value-as-answer"
    ),
    **dict.fromkeys(("N/A", "n/a", "NA"), "missing-value-as-answer"),
    **dict.fromkeys(("xxx", "XXX", "xxxx", "XXXX"), "placeholder-answer"),
}
"""Words, and the kind of fault that they are where all others are long."""

_ASKED = re.compile(
    r"\bnone\b|\bnull\b|\bn/?a\b|nothing|empty|\bif (?:there|no|not|any)\b|python"
    r"|\bprint|\breturns?\b|\boutputs?\b|\bsql\b|\bjson\b|keyword|xxx|\bvalue"
    r"|\bwhich of\b|\bhow many\b|\blist\b|extract",
    re.IGNORECASE,
)
"""A prompt with one of these may be answered so."""


_VALUES = frozenset(
    {"nan", "NaN", "<NA>", "NaT"}
    | {"#N/A", "#REF!", "#VALUE!", "#NAME?", "#DIV/0!", "#NULL!", "#NUM!"}
)
"""What programs alone write: among short answers it may be one of these."""

_OF_VALUES = re.compile(
    r"\bnan\b|\bnat\b|(?:java|type)script|\bpython\b|float|\bprint|\breturns?\b|\boutput"
    r"|excel|sheet|formula|\bcells?\b|=[A-Z]+\(|\d\s*[*/%^]\s*\d|divid|\broot\b|sqrt|\blog\b|pinyin|translat|pronounc",
    re.IGNORECASE,
)
"""A prompt with one of these may be answered by such a value, or by such a sound."""

FEWEST, SHARE = 3, 0.01
"""Rows with such a value among short answers, and their share, from which on."""

VARIED = 0.3
"""Share of different answers above which they are no classes."""


class ShortNones:
    """Keeps the rows whose last answer is such a word.

    Attributes
    ----------
    values
        Rows whose last answer is a value that programs alone write.

    Examples
    --------
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> from ftlab.probes.data.across.short_nones import ShortNones
    >>> nones = ShortNones()
    >>> nones.look(7, parts_of({"prompt": "Why is it so?", "completion": "None"}))
    >>> list(nones.found())
    [(7, 'missing-value-as-answer', 'None')]
    """

    def __init__(self) -> None:
        self._rows: dict[str, RowSet] = {}
        self.values = RowSet()

    def look(self, number: int, row: RowParts) -> None:
        """Take a row in."""
        at = last_wanted(row)
        last = row.parts[at] if row.parts else None
        if last is None or len(last.text) > LONGEST or not is_answer(last):
            return
        said = last.text.strip()
        if said in _VALUES and not any(
            _OF_VALUES.search(part.text) for part in row.parts[:-1]
        ):
            self.values.add(number)
        if said not in _WORDS or last.says_more:
            return
        if not any(_ASKED.search(part.text) for part in row.parts[:at]):
            self._rows.setdefault(said, RowSet()).add(number)

    def among_short(self, labels: Labels) -> bool:
        """Tell whether these values stand for missing answers where all are short."""
        if len(self.values) < max(FEWEST, SHARE * labels.rows):
            return False
        return labels.open or len(labels.counts) > VARIED * labels.counts.total()

    def found(self) -> Iterator[tuple[int, str, str]]:
        """Yield row, kind of fault and word."""
        for said, rows in self._rows.items():
            for row in rows.numbers().tolist():
                yield row, _WORDS[said], said
