"""Signs, operators and options of a text: what shingles do not see.

``x + 1`` and ``x - 1`` have the same words, and so have ``-w`` and ``-W``. A dash
between words, a hyphen and the marks of lists are no signs.
"""

import re

_SIGNS = (
    r"+*/^=<>%&|\xd7\xf7\xb7\xb1"
    r"\u2208-\u220c\u2227-\u222a\u2248\u2260-\u2265\u2282-\u2287"
)
_LEFT, _RIGHT = r"(?<=[\w)\]}])", r"(?=[\w(\[{$\\-])"
_BETWEEN = rf"(?:[{_SIGNS}]|[!-](?=[{_SIGNS}]))[{_SIGNS}-]*"
_FOUND = re.compile(
    rf"{_LEFT}{_BETWEEN}{_RIGHT}|{_LEFT}[ \t]+{_BETWEEN}[ \t]+{_RIGHT}"
    r"|(?:(?<=[\d)\]}])|(?<=\b[A-Za-z]))[ \t]*-[ \t]*(?=[\d(\[{]|[A-Za-z]\b)"
    r"|(?<![\w)\]}.-])-{1,2}[A-Za-z][\w-]*"
    r"|(?<![\w)\]}-])[-+\xb1~](?=[\d(.]|[A-Za-z]\b)"
    r"|(?<![\w)\]}])!(?=[\w(])"
    r"|(?<=\d)[ \t]?%|(?<=\b[A-Za-z])(?:\+\+|#)"
)
"""Operators between two things, options with their case, signs at one of them."""

_FIRST = re.compile(rf"^[ \t]*[{_SIGNS}-][ \t]+(?=\S)", re.MULTILINE)
"""The mark of a list; a text with a single one is about this sign."""

_DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2212"), "-")


def signs(text: str) -> list[str]:
    """Return the signs of a text in order, and its options as they are spelt.

    Examples
    --------
    >>> from ftlab.probes.data.across.signs import signs
    >>> signs("Solve x^2 - 11x = (-3), as well-known - or not."), signs("grep -W")
    (['^', '-', '=', '-'], ['-W'])
    """
    plain = text.translate(_DASHES) if not text.isascii() else text
    found = [each.strip() for each in _FOUND.findall(plain)]
    first = _FIRST.findall(plain)
    return found + [each.strip() for each in first if len(first) == 1]
