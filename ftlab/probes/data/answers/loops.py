"""Answers that say one thing again and again until they end."""

import re

from ftlab.probes.data.texts.text_faults import TextFault

SHORTEST, REPEATS, OF_LINES = 200, 6, 16
"""Characters that repeats cover, how many they are, and how many where lines repeat."""

SEEN, LONGEST = 30, 600
"""Characters that are looked for before the end, and how far back."""

_OF_CODE, _OF_TABLES = re.compile(r"[{}()\[\]<>=;]"), ("|", "\t")
CODE = 0.08
"""Share of brackets and signs above which lines are code."""


def looping(text: str) -> TextFault | None:
    """Return where a text begins to repeat itself up to its end.

    Tables and code are left out, but for a line of a block behind its end; lines may be
    a refrain, up to some.

    Examples
    --------
    >>> from ftlab.probes.data.answers.loops import looping
    >>> looping("I see. " + "It is the same for all of them. " * 9)
    TextFault(name='looping-answer', char=6, says='9 times the same 32 characters')
    >>> looping("It is the same for all of them. " * 3)
    """
    end = len(text.rstrip())
    if end < SHORTEST:
        return None
    found = text.rfind(text[end - SEEN : end], max(0, end - SEEN - LONGEST), end - 1)
    if found < 0:
        return None
    length = end - SEEN - found
    unit = text[end - length : end]
    start, times = end - length, 1
    while start >= length and text.startswith(unit, start - length):
        start, times = start - length, times + 1
    if times < REPEATS:
        return None
    if not _is_line_of_code(text, start):
        least = OF_LINES if "\n" in unit else REPEATS
        if times < least or times * length < SHORTEST or not _says_something(unit):
            return None
    says = f"{times} times the same {length} characters"
    return TextFault("looping-answer", start, says)


def _is_line_of_code(text: str, start: int) -> bool:
    """Tell whether a line of a block repeats itself behind the block's end."""
    fence = text.rfind("```", 0, start + 1)
    if fence < 0 or text.count("```", 0, start) % 2:
        return False
    line = text[fence + 3 :].lstrip("\r").partition("\n")[2].partition("\n")[0]
    return bool(line.strip()) and f"\n{line}\n" in text[:fence]


def _says_something(unit: str) -> bool:
    words = not unit.isascii() or any(char.isspace() for char in unit)
    signs = len(_OF_CODE.findall(unit))
    plain = signs <= CODE * len(unit) and not any(mark in unit for mark in _OF_TABLES)
    return words and plain and any(map(str.isalpha, unit))
