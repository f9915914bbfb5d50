"""Faults of the letters of a row, without those that the row is about."""

import re
import unicodedata
from collections.abc import Iterator

from ftlab.probes.data.answers.answer_faults import Placed, asks_about, is_answer
from ftlab.probes.data.rows.parts import RowParts
from ftlab.probes.data.texts.code_pages import LETTERS, of_another_page
from ftlab.probes.data.texts.text_faults import (
    SUSPECT,
    TextFault,
    around,
    repairer,
    text_faults,
)

_ASKED = re.compile(
    r"mojibake|garbled|encod|decod|charset|code ?page|utf-?8|cp125\d|latin-?1|iso-8859"
    r"|unicode|ftfy|fffd|replacement char|codific|kodier|zeichensatz"
    r"|\u043a\u043e\u0434\u0438\u0440\u043e\u0432|\u4e71\u7801|\u6587\u5b57\u5316\u3051",
    re.IGNORECASE,
)
"""A prompt with one of these may be about letters that were read wrongly."""

_LOST = re.compile("\ufffd+")

_NAMED = re.compile(r"mojibake|\bftfy\b", re.IGNORECASE)
"""A text with one of these is about them."""

_SUSPECT = re.compile(f"[{SUSPECT}{LETTERS}]")


def may_hold_fault(signs: bytes) -> bool:
    r"""Tell whether any of a row's rare characters, in UTF-8, may be at fault.

    Examples
    --------
    >>> from ftlab.probes.data.texts.letter_faults import may_hold_fault
    >>> may_hold_fault("\u201c\u201d".encode()), may_hold_fault("\u00c3".encode())
    (False, True)
    """
    return _SUSPECT.search(signs.decode("utf-8", "surrogatepass")) is not None


def letter_faults(row: RowParts) -> Iterator[Placed]:
    """Yield what is wrong with the texts of a row as such.

    Letters that were read wrongly are meant where the row asks about them, and where
    an answer has them mended.

    Examples
    --------
    >>> from ftlab.probes.data.texts.letter_faults import letter_faults
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> row = parts_of({"prompt": "C\u00c3\u00a9line", "completion": "It is she."})
    >>> [(part.where, fault.name) for part, fault in letter_faults(row)]
    [('prompt', 'broken-encoding')]
    >>> row = parts_of({"prompt": "C\u00c3\u00a9line", "completion": "C\u00e9line"})
    >>> list(letter_faults(row))
    []
    """
    for part in row.parts:
        for fault in _faults(part.text):
            meant = _MEANT.get(fault.name)
            if meant is None or not meant(part.text, fault, row):
                yield part, fault


def _faults(text: str) -> Iterator[TextFault]:
    yield from text_faults(text)
    if not text.isascii() and (found := of_another_page(text)):
        yield TextFault("broken-encoding", *found)


def _is_meant(text: str, fault: TextFault, row: RowParts) -> bool:
    if _NAMED.search(text) or (row.kind != "text" and asks_about(row, _ASKED)):
        return True
    _, part = around(text, fault.char)
    answers = [each.text for each in row.parts if is_answer(each)]
    if fault.says.startswith("U+FFFD"):
        lines = re.compile(
            "[^\ufffd]{1,3}".join(map(re.escape, _LOST.split(part.strip())))
        )
        return any(map(lines.search, answers))
    repair = repairer()
    mended = (repair and repair(part)) or ""
    return mended != "" and any(_holds(each, part, mended) for each in answers)


def _is_named(text: str, fault: TextFault, row: RowParts) -> bool:
    """Tell whether a row is about the very character that nobody sees."""
    char = text[fault.char]
    names = [f"u+{ord(char):04x}", f"\\u{ord(char):04x}", f"&#x{ord(char):x};"]
    names += [unicodedata.name(char, "").casefold()]
    said = [part.text.casefold() for part in row.parts]
    return any(name and name in each for each in said for name in names)


def _holds(answer: str, part: str, mended: str) -> bool:
    """Tell whether an answer is a part of a text that was mended, or the other way."""
    new = set(mended) - set(part)
    said = answer.strip()
    return mended.strip() in said or (said in mended and not new.isdisjoint(said))


_MEANT = {"broken-encoding": _is_meant, "invisible-character": _is_named}
"""Faults that a row may hold on purpose, and what tells so."""
