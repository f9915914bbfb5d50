# ruff: noqa: RUF001  letters that look like others are what this is about
"""Letters that are none: question marks, and those of another script in a word."""

import re
from collections.abc import Iterator

from ftlab.probes.data.texts.text_faults import TextFault

_LOST = re.compile(r"(?<![?\w])\?{2,}[,.]? \?+[,.]? \?+(?:[,. ]|\Z)(?:[?,. ]*)")

_CYRILLIC, _GREEK = "аеорсухіѕјһкАВЕКМНОРСТХІ", "οΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"
_MIXED = re.compile(
    f"(?<=[A-Za-z])[{_CYRILLIC}{_GREEK}](?=[A-Za-z])"
    "|(?<=[\u0400-\u04ff])[aceopxyABCEHKMOPTX](?=[\u0400-\u04ff])"
)
_OTHERS = bytes(each for each in range(256) if not 0xCE <= each <= 0xD3)
"""All but the bytes with which Greek and Cyrillic letters begin in UTF-8."""


def wrong_letters(text: str) -> Iterator[TextFault]:
    """Yield where letters were replaced.

    Examples
    --------
    >>> from ftlab.probes.data.texts.wrong_letters import wrong_letters
    >>> [fault.says for fault in wrong_letters("It says ???? ?? ??????.")]
    ['words of question marks']
    >>> list(wrong_letters("What?? Is it so??"))
    []
    """
    if "?? ?" in text and (found := _lost(text)):
        yield found
    if has_other_letters(text.encode("utf-8", "replace")) and (mixed := _mixed(text)):
        yield mixed


def has_other_letters(text: bytes) -> bool:
    r"""Tell whether a text, in UTF-8, may hold Greek or Cyrillic letters.

    Examples
    --------
    >>> from ftlab.probes.data.texts.wrong_letters import has_other_letters
    >>> has_other_letters("caf\u00e9".encode()), has_other_letters("\u03b1".encode())
    (False, True)
    """
    return bool(text.translate(None, _OTHERS))


def _lost(text: str) -> TextFault | None:
    for found in _LOST.finditer(text):
        lengths = [len(each) for each in re.findall(r"\?+", found.group())]
        if len(set(lengths)) > 1 and max(lengths) > len("??"):
            return TextFault(
                "broken-encoding", found.start(), "words of question marks"
            )
    return None


def _mixed(text: str) -> TextFault | None:
    found = _MIXED.search(text)
    if found is None:
        return None
    char = found.group()
    says = f"U+{ord(char):04X} {char} within a word of another script"
    return TextFault("mixed-scripts", found.start(), says)
