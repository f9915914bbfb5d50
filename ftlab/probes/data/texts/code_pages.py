"""Letters of one code page that were read as those of another.

Told by what the words of no language have, as nothing else tells it.
"""

import re
import unicodedata
from collections.abc import Callable

FEWEST, WHOLE, SHARE = 2, 3, 0.1
"""Signs of it; different words without a plain letter; share of words with a sign."""

BASES = 3
"""Letters that differ by more than their accents: in lists of letters they do not."""

_ACCENTS = "\xc0-\xd6\xd8-\xf6\xf8-\xff"
_WHOLE = re.compile(rf"(?<![\w\[\"'`|/-])[{_ACCENTS}]{{4,}}(?![\w\]\"'`|/-])")
_POLISH = re.compile(
    "(?<![\\w\xb9\xb3\xbf])(?=[a-z\xea\xf3\xe6\xf1\xb9\xb3\xbf]{5})"
    "[a-z\xea\xf3\xe6\xf1\xbf]+[\xb9\xb3][a-z\xea\xf3\xe6\xf1][a-z\xea\xf3\xe6\xf1\xbf\xb9\xb3]*"
)
"""A raised figure within a word: what cp1252 makes of two letters of cp1250."""

_WORD = re.compile(r"[^\W\d_]+")
_TURKISH = str.maketrans(
    "\xf0\xfe\xfd\xd0\xde\xdd", "\u011f\u015f\u0131\u011e\u015e\u0130"
)
_TURNED = re.compile("[\xf0\xfe\xfd\xd0\xde\xdd]")
_NOT_TURKISH = re.compile(
    "[\xc0\xc1\xc3-\xc6\xc8-\xcd\xcf\xd1-\xd5\xd8-\xdb\xdf-\xe1\xe3-\xe6\xe8-\xed\xef"
    "\xf1-\xf5\xf8-\xfa\xff-\u1fff]"
    "|[aeiou\xf6\xfc]\xfd|\xfd[aeiou\xf6\xfc]"
)
"""Letters that Turkish has not, nor what it becomes: Icelandic, Czech, Turkmen."""

_WITHIN = re.compile("[b-df-hj-np-tv-z\xf0\xfe]\xfd(?:[b-df-hj-np-tv-z\xf0\xfe]|\\b)")
_BEHIND = re.compile("[a-z\xf6\xfc\xe7\xfd]\xfe(?:[bcdfgklmnpst]|\\b)")
"""Where Turkish has its letters, and Icelandic has not thorn."""

_AT_END = re.compile("[^\\W\\d_]{3}[b-df-hj-np-tv-z\xf0\xfe]\xfd\\b")
"""The end of a case in Turkish; of an adjective in Czech, which has no eth."""

_BESIDE = re.compile("[\xe7\xfc]")


def of_another_page(text: str) -> tuple[int, str] | None:
    """Find letters of Turkish, Polish, Cyrillic or Greek that were read as Latin-1.

    Examples
    --------
    >>> from ftlab.probes.data.texts.code_pages import of_another_page
    >>> of_another_page("dosyas\u00fd i\u00e7in aral\u00fdklar\u00fd g\u00f6ster")
    (0, 'reads dosyas\u0131 when repaired')
    >>> of_another_page("\u00de\u00fd\u00f0ing er g\u00f3\u00f0")
    """
    for letters, look in _LOOKS:
        if any(letter in text for letter in letters) and (found := look(text)):
            return found
    return None


def _turkish(text: str) -> tuple[int, str] | None:
    low = text.lower()
    if _NOT_TURKISH.search(low):
        return None
    words = _WORD.findall(low)
    broken = sum(_TURNED.search(word) is not None for word in words)
    if len(_TURNED.findall(low)) < FEWEST or broken < SHARE * len(words):
        return None
    within, behind = _WITHIN.search(low), _BEHIND.search(low)
    beside = _BESIDE.search(low) and (within or behind)
    at_end = _AT_END.search(low) and ("\xf0" in low or "\xfe" in low)
    if not (beside or at_end or (within and behind)):
        return None
    first = next(each for each in _WORD.finditer(text) if _TURNED.search(each.group()))
    reads = first.group()[:30].translate(_TURKISH)
    return first.start(), f"reads {reads} when repaired"


def _polish(text: str) -> tuple[int, str] | None:
    found = list(_POLISH.finditer(text))
    if len({each.group() for each in found}) < FEWEST:
        return None
    return found[0].start(), f"{found[0].group()[:30]}, a raised figure within a word"


def _whole(text: str) -> tuple[int, str] | None:
    found = [each for each in _WHOLE.finditer(text) if _is_word(each.group())]
    if len({each.group() for each in found}) < WHOLE:
        return None
    first = found[0]
    return first.start(), f"{first.group()[:30]}, a word of accented letters alone"


def _is_word(letters: str) -> bool:
    """Tell whether letters are no part of an alphabet, which is in order."""
    bases = {unicodedata.normalize("NFD", letter)[0] for letter in letters.lower()}
    return len(bases) >= BASES and list(letters) != sorted(letters)


_LOOKS: tuple[tuple[str, Callable[[str], tuple[int, str] | None]], ...] = (
    ("\xfd\xfe\xf0\xdd\xde", _turkish),
    ("\xb9\xb3", _polish),
    ("\xe5\xe0\xef\xe8", _whole),
)
"""What may have been read wrongly by letters of which such a text holds one."""

LETTERS = "".join(letters for letters, _ in _LOOKS)
