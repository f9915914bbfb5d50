r"""Letters that nobody types: in the shapes of a page, or small with a large one's dot.

Arabic letters have other characters for each place in a word, and Latin ones for two or
three of them together: PDF files hold these, and keyboards do not.
"""

import re
import unicodedata
from collections.abc import Iterator

from ftlab.probes.data.answers.answer_faults import Placed, is_answer
from ftlab.probes.data.rows.parts import Part, RowParts
from ftlab.probes.data.texts.text_faults import TextFault

FEWEST, JOINED = 5, 2
"""Arabic letters, and Latin ones within words, from which on a text is told."""

_SHAPES = "\ufb50-\ufbb1\ufbd3-\ufd3d\ufd50-\ufdcf\ufe70-\ufefc"
"""Without the words that have one character, as the Prophet's blessing has."""

_SHAPE = re.compile(f"[{_SHAPES}]")
_WORD = re.compile(f"[{_SHAPES}]{{3,}}")
_TYPED = re.compile("[\u0620-\u064a\u066e-\u06d3\u06fa-\u06ff\u0750-\u077f]")
_LIGATURE = re.compile(
    "[A-Za-z]*(?:(?<=[A-Za-z])[\ufb00-\ufb06]|[\ufb00-\ufb06](?=[a-z]))[a-z]*"
)
_DOTTED = re.compile(
    "[^\\W\\d_]*(?:(?<=[^\\W\\d_])i\u0307(?![\u0300-\u036f])|i\u0307(?=[^\\W\\d_]))[^\\W\\d_]*"
)
"""Not followed by an accent, as Lithuanian has it."""

_OF_SHAPES = re.compile(
    r"ligature|presentation form|glyph|nfkc|unicode|normali[sz]|typeset|u\+f[bde]",
    re.IGNORECASE,
)
_OF_DOTS = re.compile(
    r"\blower|casefold|dotted|combining|tolocale|u\+0307", re.IGNORECASE
)
_ABOUT = {"printed-letters": _OF_SHAPES, "dotted-i": _OF_DOTS}
"""A row with one of these words may be about such letters."""

_ARTICLE = "\u0627\u0644"
"""What words begin with, and end with where they are reversed."""


def may_hold_shapes(rare: bytes) -> bool:
    r"""Tell whether any of a row's rare characters, in UTF-8, may be such a shape.

    Examples
    --------
    >>> from ftlab.probes.data.texts.printed_letters import may_hold_shapes
    >>> may_hold_shapes("\ufb01".encode()), may_hold_shapes("\uff0c".encode())
    (True, False)
    """
    if b"\xef" in rare and (
        b"\xef\xac" in rare or b"\xef\xba" in rare or b"\xef\xbb" in rare
    ):
        return True
    return b"\xcc\x87" in rare


def printed_letters(row: RowParts) -> Iterator[Placed]:
    r"""Yield the texts with letters that nobody types.

    Examples
    --------
    >>> from ftlab.probes.data.texts.printed_letters import printed_letters
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> row = parts_of({"text": "The \ufb01rst of them is well de\ufb01ned."})
    >>> [(fault.name, fault.says) for _, fault in printed_letters(row)]
    [('printed-letters', 'reads first when typed')]
    >>> row = parts_of({"text": "i\u0307stanbul"})
    >>> [(fault.name, fault.char) for _, fault in printed_letters(row)]
    [('dotted-i', 0)]
    """
    for part in row.parts:
        if part.text.isascii():
            continue
        for look in (_arabic, _latin, _dotted):
            fault = look(part.text)
            if fault is not None and not _is_meant(row, part, fault):
                yield part, fault


def _arabic(text: str) -> TextFault | None:
    found = len(_SHAPE.findall(text))
    if found < FEWEST or found <= len(_TYPED.findall(text)):
        return None
    words = [unicodedata.normalize("NFKC", each) for each in _WORD.findall(text)]
    if not words:
        return None
    begin = sum(word.startswith(_ARTICLE) for word in words)
    turned = sum(word.endswith(_ARTICLE[::-1]) for word in words) > begin
    first = words[0][::-1] if turned else words[0]
    order = ", in reversed order" if turned else ""
    at = _first(_WORD, text)
    return TextFault("printed-letters", at, f"reads {first[:30]} when typed{order}")


def _latin(text: str) -> TextFault | None:
    found = _LIGATURE.findall(text)
    if len(found) < JOINED:
        return None
    first = unicodedata.normalize("NFKC", found[0])[:30]
    return TextFault(
        "printed-letters", _first(_LIGATURE, text), f"reads {first} when typed"
    )


def _dotted(text: str) -> TextFault | None:
    found = _DOTTED.search(text)
    if found is None:
        return None
    reads = found.group().replace("i\u0307", "i")[:30]
    return TextFault("dotted-i", found.start(), f"reads {reads} when typed")


def _first(words: re.Pattern[str], text: str) -> int:
    found = words.search(text)
    return found.start() if found else 0


def _is_meant(row: RowParts, part: Part, fault: TextFault) -> bool:
    """Tell whether a row is about such letters, or has them typed in an answer."""
    if any(_ABOUT[fault.name].search(each.text) for each in row.parts):
        return True
    word = fault.says.split()[1]
    typed = re.compile(rf"\b(?:{re.escape(word)}|{re.escape(word[::-1])})\b")
    return any(
        is_answer(each) and each is not part and typed.search(each.text)
        for each in row.parts
    )
