"""What one glance at all texts of a row tells: where a look may find anything.

It spares nearly all rows most of the looks. Who calls whom: `Scan` has each row glanced
at, and hands what was seen to the looks.
"""

from collections.abc import Iterable, Set as AbstractSet
from typing import NamedTuple

from ftlab.probes.data.answers.answer_marks import TURNS
from ftlab.probes.data.answers.calculations import OPENED as CALCULATED
from ftlab.probes.data.answers.failed_requests import RAISED
from ftlab.probes.data.answers.model_voices import NAMED
from ftlab.probes.data.answers.no_answers import LOREM
from ftlab.probes.data.answers.only_thoughts import MARKS
from ftlab.probes.data.rows.parts import RowParts
from ftlab.probes.data.rows.pictures import PLACE
from ftlab.probes.data.texts.chat_pages import PAGE
from ftlab.probes.data.texts.foreign_marks import FOREIGN
from ftlab.probes.data.texts.left_markup import TAGS
from ftlab.probes.data.texts.merge_markers import OPENED
from ftlab.probes.data.texts.secrets import FORMS
from ftlab.probes.data.texts.text_faults import PLAIN
from ftlab.probes.data.texts.unfilled import NAMES
from ftlab.probes.data.texts.words import finder

SIGNS = b"\\&{<[?`"
"""What a mark or a form of another program holds."""

FENCE, FENCED_PYTHON, FUNCTION = "```", "```py", "def "
DIVIDED, SHEET, ARRAY = "-\n", "_x00", "dtype="
DICTIONARIES = ("{'", '{"')
FIELDS = tuple([f"[{name}]" for name in NAMES])

WORDS = (
    *(FENCE, FENCED_PYTHON, FUNCTION, DIVIDED, SHEET, ARRAY, PLACE, RAISED, LOREM),
    *(*DICTIONARIES, *FORMS, *NAMED, *PAGE, *TURNS, *MARKS, *FIELDS),
    *(*FOREIGN, *TAGS, OPENED, CALCULATED),
)
"""What looks are for begins with one of these, or holds it."""

_USUAL = bytes(each for each in PLAIN if each not in SIGNS)


class Glance(NamedTuple):
    """What was seen of a row.

    Attributes
    ----------
    whole
        All its texts, a line for each.
    rare
        What they hold beside usual letters and signs, in UTF-8.
    odd
        The same without `SIGNS`.
    words
        Which of the words stand in them.
    """

    whole: str
    rare: bytes
    odd: bytes
    words: AbstractSet[str]


class Glances:
    r"""Glances at rows.

    Parameters
    ----------
    more
        Words that are looked for beside `WORDS`: control strings of a tokenizer.

    Examples
    --------
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> from ftlab.probes.data.texts.glance import Glances
    >>> seen = Glances(["<|end|>"]).at(parts_of({"text": "Sch\u00f6n, Error <|end|>"}))
    >>> seen.rare, seen.odd, sorted(seen.words)
    (b'\xc3\xb6<', b'\xc3\xb6', ['<|end|>', 'Error'])
    """

    def __init__(self, more: Iterable[str] = ()) -> None:
        self._find = finder([*WORDS, *more])

    def at(self, row: RowParts) -> Glance:
        """Glance at a row."""
        whole = "\n".join([part.text for part in row.parts])
        text = whole.encode("utf-8", "surrogatepass")
        rare = text.translate(None, _USUAL)
        odd = rare.translate(None, SIGNS) if rare else rare
        return Glance(whole, rare, odd, self._find(text))
