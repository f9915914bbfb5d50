"""U+FFFD where somebody shows it, and where it stands for a letter that is lost."""

import re

AROUND = 80
"""Characters on each side in which a text may speak of the character."""

_PAIRS = {
    **dict.fromkeys("'\"`|"),
    "\u2018": "\u2019",
    "\u201c": "\u201d",
    "\u201e": "\u201c",
    "\xab": "\xbb",
    "\u300c": "\u300d",
}
"""Quotation marks: what closes them, where that is another one."""

_SPEAKS = re.compile(
    r"fffd|replace|utf-?8|unicode|encod|decod|codec|codepoint|code point|charset"
    r"|character|\binvalid\b|mojibake|diamond",
    re.IGNORECASE,
)
"""Words with which a text speaks of it."""


def is_shown(text: str, at: int) -> bool:
    r"""Tell whether a text means the U+FFFD that it holds.

    It is quoted, or spoken of in its line, and stands alone: beside a letter, or
    beside another one, it is what a decoder has left.

    Examples
    --------
    >>> from ftlab.probes.data.texts.shown_letters import is_shown
    >>> is_shown("Bad bytes become \ufffd, as in UTF-8.", 17)
    True
    >>> is_shown("It is UTF-8, isn\ufffdt it?", 16)
    False
    """
    before, after = text[max(at - 1, 0) : at], text[at + 1 : at + 2]
    if before.isalnum() or after.isalnum() or "\ufffd" in (before, after):
        return False
    if before in _PAIRS and (_PAIRS[before] or before) == after:
        return True
    line = text.rfind("\n", 0, at) + 1, text.find("\n", at) % (len(text) + 1)
    start, end = max(line[0], at - AROUND), min(line[1], at + AROUND)
    return _SPEAKS.search(text, start, end) is not None
