"""All that is wrong with what a row says, each looked for only where it may be."""

from collections.abc import Iterator, Set as AbstractSet

from ftlab.probes.data.answers.answer_faults import Placed
from ftlab.probes.data.answers.answer_marks import answer_marks
from ftlab.probes.data.answers.calculations import wrong_calculations
from ftlab.probes.data.answers.no_answers import no_answers
from ftlab.probes.data.rows.parts import RowParts
from ftlab.probes.data.texts.blobs import blobs, may_hold_blob
from ftlab.probes.data.texts.chat_pages import PAGE, chat_pages
from ftlab.probes.data.texts.fenced_html import fenced_html
from ftlab.probes.data.texts.foreign_marks import FOREIGN, ForeignMarks
from ftlab.probes.data.texts.glance import (
    ARRAY,
    DICTIONARIES,
    DIVIDED,
    FENCE,
    FENCED_PYTHON,
    FUNCTION,
    SHEET,
    Glance,
)
from ftlab.probes.data.texts.left_markup import TAGS, left_markup
from ftlab.probes.data.texts.letter_faults import letter_faults, may_hold_fault
from ftlab.probes.data.texts.lost_indentation import lost_indentation
from ftlab.probes.data.texts.merge_markers import OPENED, merge_markers
from ftlab.probes.data.texts.printed_letters import may_hold_shapes, printed_letters
from ftlab.probes.data.texts.secrets import FORMS, secrets
from ftlab.probes.data.texts.sheet_escapes import sheet_escapes
from ftlab.probes.data.texts.unfilled import unfilled
from ftlab.probes.data.texts.written_forms import written_forms
from ftlab.probes.data.texts.wrong_letters import has_other_letters, wrong_letters

_SECRETS = frozenset(FORMS)
_FORMS = frozenset((*DICTIONARIES, DIVIDED, ARRAY))


def content_faults(
    row: RowParts, foreign: ForeignMarks, glance: Glance
) -> Iterator[Placed]:
    """Yield what is wrong with the texts of a row, and where.

    Parameters
    ----------
    glance
        What was seen of the row.

    Examples
    --------
    >>> from ftlab.probes.data.texts.foreign_marks import ForeignMarks
    >>> from ftlab.probes.data.texts.content_faults import content_faults
    >>> from ftlab.probes.data.texts.glance import Glances
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> row = parts_of({"prompt": "Why?", "completion": "???? ?? ???"})
    >>> found = content_faults(row, ForeignMarks(None), Glances().at(row))
    >>> [fault.name for _, fault in found]
    ['broken-encoding']
    """
    whole, rare, odd, words = glance
    if odd or b"???" in rare:
        yield from _letters(row, rare, odd)
    yield from no_answers(row, words)
    if ":" in whole:
        yield from answer_marks(row, words)
    if b"{" in rare:
        yield from unfilled(row)
    if words or b"\\" in rare or b"&" in rare:
        yield from _forms(row, rare, words)
    if words:
        yield from wrong_calculations(row, words)
        yield from _words(row, words)
        yield from _marks(row, foreign, words)
    if (words and not words.isdisjoint(_SECRETS)) or ("@" in whole and "://" in whole):
        yield from secrets(row)
    if may_hold_blob(whole):
        yield from blobs(row)


def _letters(row: RowParts, rare: bytes, odd: bytes) -> Iterator[Placed]:
    """Yield letters that were lost or replaced, and those that nobody types."""
    if may_hold_fault(odd):
        yield from letter_faults(row)
    if may_hold_shapes(odd):
        yield from printed_letters(row)
    if b"???" in rare or has_other_letters(odd):
        for part in row.parts:
            yield from ((part, fault) for fault in wrong_letters(part.text))


def _marks(
    row: RowParts, foreign: ForeignMarks, words: AbstractSet[str]
) -> Iterator[Placed]:
    """Yield tags, and marks of other programs."""
    if not words.isdisjoint(TAGS):
        yield from left_markup(row)
    if not words.isdisjoint(FOREIGN):
        yield from foreign.faults(row)


def _forms(row: RowParts, rare: bytes, words: AbstractSet[str]) -> Iterator[Placed]:
    """Yield what other programs have written in a form of their own."""
    if b"\\" in rare or b"&" in rare or not words.isdisjoint(_FORMS):
        yield from written_forms(row)
    if FENCE in words and (b"&" in rare or b"<" in rare):
        yield from fenced_html(row)
    if SHEET in words:
        yield from sheet_escapes(row)
    if OPENED in words:
        yield from merge_markers(row)


def _words(row: RowParts, words: AbstractSet[str]) -> Iterator[Placed]:
    """Yield what code has lost, and what stood around a text on its page."""
    if FENCED_PYTHON in words or FUNCTION in words:
        yield from lost_indentation(row)
    if not words.isdisjoint(PAGE):
        yield from chat_pages(row)
