"""What is wrong with the characters of a text.

It was read with a wrong encoding, or holds what nobody sees or types: control and
format characters, halves of characters, and letters apart from their accents.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache

from ftlab.probes.data.rows.parts import Placed, RowParts, TextFault, is_answer

_CONTROLS = r"\x00-\x08\x0b\x0e-\x1f\x7f"
_UNSEEN = (
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u206f\u3164\ufeff"
    "\ufff9-\ufffb\U000e0001-\U000e007f"
)
_JOINERS = (
    "(?<![\u0590-\u200a\u2010-\u2027\u2030-\u205f\u2070-\U0010ffff])[\u200c\u200d]"
)
"""Joiners that stand neither behind a letter of a joining script nor within emoji."""

_MARKS = "\u0300-\u036f\u3099\u309a\u1161-\u1175\u11a8-\u11c2"
"""What follows a letter that could be one character with it."""

_BEHIND_LEAD = (
    "\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013\u2014\u2018-\u201a"
    "\u201c-\u201e\u2020-\u2022\u2026\u2030\u2039\u203a\u20ac\u2122\xa0-\xbf"
)
"""What cp1252 makes of a byte that goes on with a character of UTF-8."""

_WRONG = (
    "[\x80-\x9f\ufffd]"
    f"|[\xc2-\xf4][{_BEHIND_LEAD}]"
    "|\u0432\u0402|[\u0420\u0421][\u0402-\u040f\u0452-\u045f\u0490\u0491\xa0-\xbf\u2018-\u2122]"
    "|\u221a[\xa0-\xff\u2020-\u22ff]|\u201a\xc4|\u0393\xc7"
)
"""What UTF-8 looks like in cp1252, cp1251, MacRoman or cp437: a guess, to be proven."""

_ASCII = re.compile(f"[{_CONTROLS}]")
_PLAIN = bytes(c for c in range(128) if not _ASCII.match(chr(c)))
"""Characters that may stand in any text; taking them out is faster than searching."""

_SUSPECT = re.compile(
    f"[{_CONTROLS}{_UNSEEN}{_MARKS}\ud800-\udfff"
    "\x80-\x9f\ufffd\xc2-\xf4\u0432\u0420\u0421\u221a\u201a\u0393\u200c\u200d]"
)
"""All that a fault may begin with; one set of characters is searched fast."""

_CERTAIN = re.compile(f"[{_CONTROLS}{_UNSEEN}{_MARKS}\ud800-\udfff]|{_WRONG}")
_HALF = re.compile("[\ud800-\udfff]")
_HIDDEN = re.compile(f"[{_CONTROLS}{_UNSEEN}]|{_JOINERS}")
_APART = re.compile(f"[{_MARKS}]")
_MISREAD = re.compile(_WRONG)

_BYTE = re.compile(f"[\xc2-\xf4{_BEHIND_LEAD}]\xad")
"""A soft hyphen that is a byte of a letter: in a broken text, told as that."""

_MEANT = re.compile(
    "(?<=[A-Z\xc0-\xde\u0100-\u024f\u1e00-\u1eff\"'\u2018-\u201e\xab\u2039])"
    "([\xc3\xc4\xc5\xc8])"
    "(?:\u2014|[\u2013\u2018-\u201d\u2026\u2039\u203a\xbb\u2122\xae\xb0](?!\\w))"
)
"""A capital letter at the end of a word, and a quotation mark, a dash or a sign."""

_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e")
_ISOLATES = frozenset("\u2066\u2067\u2068\u2069")
_WITHOUT_SPACES = re.compile("[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u1aaf]")
_FLAG = "\U0001f3f4"

AROUND, TRIES = 200, 8
"""Characters on each side that a repair is tried on, and how often in one text."""

_ABOUT = re.compile(
    r"mojibake|garbled|encod|decod|charset|code ?page|utf-?8|cp125\d|latin-?1|iso-8859"
    r"|unicode|ftfy|fffd|replacement char"
    r"|\u043a\u043e\u0434\u0438\u0440\u043e\u0432|\u4e71\u7801|\u6587\u5b57\u5316\u3051",
    re.IGNORECASE,
)
"""A prompt with one of these, or what stands around, is about such letters."""


def character_faults(row: RowParts) -> Iterator[Placed]:
    """Yield what is wrong with the texts of a row, unless it is about that.

    Letters that were read wrongly are meant where the row asks about them, and where
    an answer has them mended; a hidden character is where the row names it.

    Examples
    --------
    >>> from ftlab.probes.data.rows.formats import parts_of
    >>> from ftlab.probes.data.texts.characters import character_faults
    >>> row = parts_of({"prompt": "C\u00c3\u00a9line", "completion": "It is she."})
    >>> [(part.where, fault.name) for part, fault in character_faults(row)]
    [('prompt', 'broken-encoding')]
    >>> row = parts_of({"prompt": "C\u00c3\u00a9line", "completion": "C\u00e9line"})
    >>> list(character_faults(row))
    []
    """
    for part in row.parts:
        for fault in text_faults(part.text):
            meant = _MEANT_BY.get(fault.name)
            if meant is None or not meant(part.text, fault, row):
                yield part, fault


def _is_about(text: str, fault: TextFault, row: RowParts) -> bool:
    _, part = around(text, fault.char)
    if _ABOUT.search(part) or (row.kind != "text" and row.asks_about(_ABOUT)):
        return True
    repair = repairer()
    mended = (repair(part) if repair else None) or ""
    answers = [each.text.strip() for each in row.parts if is_answer(each)]
    return mended != "" and any(
        mended.strip() in said or (said in mended and said not in part)
        for said in answers
    )


def _is_named(text: str, fault: TextFault, row: RowParts) -> bool:
    """Tell whether a row is about the very character that nobody sees."""
    char = text[fault.char]
    names = [f"u+{ord(char):04x}", f"\\u{ord(char):04x}", f"&#x{ord(char):x};"]
    names += filter(None, [unicodedata.name(char, "").casefold()])
    said = [part.text.casefold() for part in row.parts]
    return any(name in each for each in said for name in names)


_MEANT_BY = {"broken-encoding": _is_about, "invisible-character": _is_named}
"""Faults that a row may hold on purpose, and what tells so."""


def text_faults(text: str) -> Iterator[TextFault]:
    r"""Yield the first fault of each kind.

    Examples
    --------
    >>> from ftlab.probes.data.texts.characters import text_faults
    >>> list(text_faults("C\u00c3\u00a9line"))
    [TextFault(name='broken-encoding', char=1, says='reads Céline when repaired')]
    >>> list(text_faults("\U0001f469\u200d\U0001f4bb caf\u00e9"))
    []
    """
    if text.isascii():
        if text.encode().translate(None, _PLAIN) and (fault := _hidden(text)):
            yield fault
        return
    if not _SUSPECT.search(text):
        return
    if _CERTAIN.search(text):
        broken = _misread(text)
        yield from filter(None, (_half(text), broken))
        rest = text if broken is None else _BYTE.sub("..", text)
        yield from filter(None, (_hidden(rest), _apart(text)))
    elif ("\u200c" in text or "\u200d" in text) and (fault := _hidden(text)):
        yield fault


def _half(text: str) -> TextFault | None:
    found = _HALF.search(text)
    if found is None:
        return None
    return TextFault("half-character", found.start(), f"U+{ord(found.group()):04X}")


def _hidden(text: str) -> TextFault | None:
    for found in _HIDDEN.finditer(text):
        if not _has_reason(text, found.start()):
            char = found.group()
            name = unicodedata.name(char, "a control character")
            says = f"U+{ord(char):04X} {name}"
            return TextFault("invisible-character", found.start(), says)
    return None


def _has_reason(text: str, at: int) -> bool:
    """Tell whether a script or an emoji needs the character where it stands."""
    char = text[at]
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if char in _DIRECTIONS or char in _ISOLATES:
        # as translations write the form of a date, which has no letter of the script
        return after == "%" or _RIGHT_TO_LEFT.search(text) is not None
    if char == "\u200b":
        return bool(_WITHOUT_SPACES.match(before) or _WITHOUT_SPACES.match(after))
    if char == "\u180e":
        return "\u1800" <= before <= "\u18af"
    if char >= "\U000e0020":
        return text.rfind(_FLAG, max(0, at - 8), at) >= 0
    return False


def _apart(text: str) -> TextFault | None:
    for found in _APART.finditer(text):
        at = found.start()
        pair = text[at - 1 : at + 1] if at else ""
        whole = unicodedata.normalize("NFC", pair)
        if len(pair) == 2 and len(whole) == 1:
            return TextFault("decomposed-letters", at - 1, f"{whole} as two characters")
    return None


def _misread(text: str) -> TextFault | None:
    repair = repairer()
    # such a pair is right in "AMANH\xc3\u201d", and proves nothing beside others either
    text = _MEANT.sub(r"\1.", text)
    for tried, found in enumerate(_MISREAD.finditer(text)):
        at, char = found.start(), found.group()
        if char == "\ufffd":
            return TextFault("broken-encoding", at, "U+FFFD, a character that is lost")
        if repair is None or tried >= TRIES:
            continue
        start, part = around(text, at)
        mended = repair(part)
        if mended is not None:
            return TextFault("broken-encoding", at, _reads(part, mended, at - start))
    return None


def around(text: str, at: int) -> tuple[int, str]:
    r"""Return where the part of a line begins that a repair is tried on, and the part.

    Examples
    --------
    >>> from ftlab.probes.data.texts.characters import around
    >>> around("One.\nTwo.\nThree.", 6)
    (5, 'Two.')
    """
    start = max(text.rfind("\n", 0, at) + 1, at - AROUND)
    end = text.find("\n", at)
    return start, text[start : min(end if end >= 0 else len(text), at + AROUND)]


def _reads(part: str, mended: str, at: int) -> str:
    """Show the repaired word."""
    start = part.rfind(" ", 0, at) + 1
    word = mended[start:].split(maxsplit=1)
    return f"reads {word[0][:30]} when repaired" if word else "can be repaired"


@cache
def repairer() -> Callable[[str], str | None] | None:
    """Return what repairs a text, and gives ``None`` where nothing is wrong.

    It is ``None`` itself without ftfy, which decodes a text again in another way only
    where its characters are unlikely to be meant.
    """
    try:
        from ftfy import fix_encoding
    except ImportError:
        return None

    def repair(part: str) -> str | None:
        mended = str(fix_encoding(part))
        return mended if mended != part and _is_likely(part, mended) else None

    return repair


def _is_likely(part: str, mended: str) -> bool:
    """Tell whether more speaks for a repair than one pair of characters.

    A single pair that would be one character of another script may be meant.
    """
    new = set(mended) - set(part)
    return len(part) - len(mended) > 1 or all(char < "\u0250" for char in new)
