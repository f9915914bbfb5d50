"""All that is wrong with what a row says, each looked for only where it may be.

A test of the whole row, which costs next to nothing, comes before each look.
"""

from collections.abc import Iterator

from ftlab.probes.data.answers.answer_faults import Placed
from ftlab.probes.data.answers.answer_marks import answer_marks
from ftlab.probes.data.answers.no_answers import no_answers
from ftlab.probes.data.rows.row_parts import RowParts
from ftlab.probes.data.texts.blobs import blobs, may_hold_blob
from ftlab.probes.data.texts.chat_pages import chat_pages, may_hold_page
from ftlab.probes.data.texts.fenced_html import fenced_html
from ftlab.probes.data.texts.foreign_marks import ForeignMarks
from ftlab.probes.data.texts.left_markup import left_markup
from ftlab.probes.data.texts.letter_faults import letter_faults, may_hold_fault
from ftlab.probes.data.texts.lost_indentation import lost_indentation
from ftlab.probes.data.texts.printed_letters import may_hold_shapes, printed_letters
from ftlab.probes.data.texts.secrets import may_hold_secret, secrets
from ftlab.probes.data.texts.sheet_escapes import sheet_escapes
from ftlab.probes.data.texts.text_faults import PLAIN
from ftlab.probes.data.texts.unfilled import unfilled
from ftlab.probes.data.texts.written_forms import written_forms
from ftlab.probes.data.texts.wrong_letters import has_other_letters, wrong_letters

_SIGNS = b"\\&{<[?`"
"""What a mark or a form of another program holds."""

_BRACKET = "\u3010".encode()

_USUAL = bytes(each for each in PLAIN if each not in _SIGNS)
"""What is left without these tells where to look, and is short."""


def content_faults(
    row: RowParts, foreign: ForeignMarks, whole: str
) -> Iterator[Placed]:
    """Yield what is wrong with the texts of a row, and where.

    Parameters
    ----------
    whole
        All texts of the row in one.

    Examples
    --------
    >>> from ftlab.probes.data.texts.foreign_marks import ForeignMarks
    >>> from ftlab.probes.data.texts.content_faults import content_faults
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> row = parts_of({"prompt": "Why?", "completion": "???? ?? ???"})
    >>> found = content_faults(row, ForeignMarks(None), "Why? ???? ?? ???")
    >>> [fault.name for _, fault in found]
    ['broken-encoding']
    """
    rare = whole.encode("utf-8", "surrogatepass").translate(None, _USUAL)
    if (odd := rare.translate(None, _SIGNS)) and may_hold_fault(odd):
        yield from letter_faults(row)
    if odd and may_hold_shapes(odd):
        yield from printed_letters(row)
    yield from no_answers(row)
    yield from _forms(row, foreign, whole, rare)
    yield from _of_code(row, whole, rare)
    yield from _words(row, whole)
    if may_hold_secret(whole):
        yield from secrets(row)
    if b"???" in rare or (odd and has_other_letters(odd)):
        for part in row.parts:
            yield from ((part, fault) for fault in wrong_letters(part.text))


def _forms(
    row: RowParts, foreign: ForeignMarks, whole: str, rare: bytes
) -> Iterator[Placed]:
    """Yield what other programs have left of their own."""
    if _has_form(whole, rare):
        yield from written_forms(row)
    if b"{" in rare:
        yield from unfilled(row)
    if b"<" in rare:
        yield from left_markup(row)
    if b"<" in rare or b"[" in rare or _BRACKET in rare:
        yield from foreign.faults(row)
    if may_hold_blob(whole):
        yield from blobs(row)


def _words(row: RowParts, whole: str) -> Iterator[Placed]:
    """Yield words that stood around a text where it was taken from."""
    if ":" in whole:
        yield from answer_marks(row)
    if may_hold_page(whole):
        yield from chat_pages(row)
    if "_x00" in whole:
        yield from sheet_escapes(row)


def _of_code(row: RowParts, whole: str, rare: bytes) -> Iterator[Placed]:
    """Yield what code has lost, and what stands in it that is none."""
    fenced = b"``" in rare and "```" in whole
    if (fenced and "```py" in whole) or "def " in whole:
        yield from lost_indentation(row)
    if fenced and (b"&" in rare or b"<" in rare):
        yield from fenced_html(row)


def _has_form(whole: str, rare: bytes) -> bool:
    braces = b"{" in rare and ("{'" in whole or '{"' in whole)
    return braces or b"\\" in rare or b"&" in rare or "-\n" in whole
