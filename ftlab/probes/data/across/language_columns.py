"""Texts in columns that are called by a language, and are of another script than these.

Who calls whom: `Scan` gives each row to `LanguageColumns.look`; `exchanged_sides` asks
afterwards, once all rows are known.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from ftlab.probes.data.row_sets import RowSet
from ftlab.probes.data.rows.language_names import affixes
from ftlab.probes.data.rows.parts import Part, RowParts

MOST, FEWEST = 0.8, 50
"""Share of the texts of a column that have its script, and texts from which on."""

LETTERS, READ = 4, 200
"""Different letters that a text has at least, and characters that are read."""

_WORDS_TWO_SCRIPTS = "az bs hr kk ku mn sr srp tg tk tt uz pa ms sh"
TWO_SCRIPTS = frozenset(_WORDS_TWO_SCRIPTS.split())
"""Languages that are written in two scripts."""

_ONE = {"HIRAGANA": "CJK", "KATAKANA": "CJK", "KATAKANA-HIRAGANA": "CJK"}


@lru_cache(1 << 12)
def script_of(letter: str) -> str:
    """Return the script of a letter; ``""`` for what is none.

    Examples
    --------
    >>> from ftlab.probes.data.across.language_columns import script_of
    >>> [script_of(each) for each in "e\u0436\u306e\u4e00!"]
    ['LATIN', 'CYRILLIC', 'CJK', 'CJK', '']
    """
    if not letter.isalpha():
        return ""
    name = unicodedata.name(letter, "").split(" ")[0]
    name = "LATIN" if name in ("FULLWIDTH", "FEMININE", "MASCULINE") else name
    return _ONE.get(name, name)


def scripts_of(text: str) -> Counter[str]:
    """Return how many different letters of each script a text begins with."""
    letters = text[:READ]
    if text.isascii():
        return Counter({"LATIN": LETTERS} if letters.upper() != letters.lower() else {})
    found = Counter(map(script_of, set(letters)))
    del found[""]
    return found


@dataclass(slots=True)
class _Column:
    """Texts of one column.

    Attributes
    ----------
    texts, rows, beside_latin
        By script, how many texts are mostly of it, which wholly so, and which but for
        Latin letters.
    """

    texts: Counter[str] = field(default_factory=Counter)
    rows: dict[str, RowSet] = field(default_factory=dict)
    beside_latin: dict[str, RowSet] = field(default_factory=dict)


class LanguageColumns:
    """Watches pairs of texts whose columns are called by their languages.

    Attributes
    ----------
    rows
        Pairs of columns by language, or of a source and a target.

    Examples
    --------
    >>> from ftlab.probes.data.across.language_columns import LanguageColumns
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> columns = LanguageColumns()
    >>> for at in range(60):
    ...     row = {"en": "A bridge.", "es": "Un puente."}
    ...     row |= {"es": "\u6a4b\u304c\u3042\u308b"} if at == 7 else {}
    ...     columns.look(at, parts_of(row))
    >>> list(columns.found())
    [('es', 'CJK', 'LATIN', [7])]
    """

    def __init__(self) -> None:
        self.rows = 0
        self._columns: dict[str, _Column] = {}

    def look(self, number: int, read: RowParts) -> None:
        """Take a row in."""
        if read.kind != "prompt and answer" or len(read.parts) != 2 or read.others:
            return
        named = [_language(part.column) for part in read.parts]
        columns = tuple([part.column.casefold() for part in read.parts])
        self.rows += None not in named or columns in SOURCES
        if None in named:
            return
        sides = [scripts_of(part.text) for part in read.parts]
        for part, side, other in zip(read.parts, sides, sides[::-1], strict=True):
            if side.total() >= LETTERS:
                self._count(number, part, side, other)

    def _count(
        self, number: int, part: Part, side: Counter[str], other: Counter[str]
    ) -> None:
        script = side.most_common(1)[0][0]
        column = self._columns.setdefault(part.column, _Column())
        column.texts[script] += 1
        # names are in Latin letters, and what both sides hold was not to be translated
        script, *more = side.keys() - {"LATIN"} or side.keys()
        if not more and side[script] >= LETTERS and script not in other:
            rows = column.rows if len(side) == 1 else column.beside_latin
            rows.setdefault(script, RowSet()).add(number)

    def found(self) -> Iterator[tuple[str, str, str, list[int]]]:
        """Yield a column, a script, that of nearly all its texts, and the rows.

        Names and what was not translated are in Latin letters in any language.
        """
        for column, known in self._columns.items():
            usual, count = known.texts.most_common(1)[0]
            total = known.texts.total()
            if total < FEWEST or count < MOST * total:
                continue
            two = _language(column) in TWO_SCRIPTS
            named = known.beside_latin if usual != "LATIN" else {}
            for script in dict.fromkeys([*known.rows, *named]):
                alike = two and {script, usual} <= {"LATIN", "CYRILLIC", "ARABIC"}
                if script not in (usual, "LATIN") and not alike:
                    rows = known.rows.get(script, RowSet()).numbers().tolist()
                    rows += named.get(script, RowSet()).numbers().tolist()
                    yield column, script, usual, sorted(rows)


SOURCES = (
    *(("source", "target"), ("src", "tgt"), ("source_text", "target_text")),
    ("src_text", "tgt_text"),
)


@lru_cache(256)
def _language(column: str) -> str | None:
    """Return the language that a column is called by."""
    name = column.rpartition(".")[2].strip().casefold().replace("-", "_")
    around = affixes(name.replace(" ", "_"))
    if around is None:
        return None
    return name.removeprefix(around).removesuffix(around).partition("_")[0]
