"""Text that others wrote, made safe for a terminal."""

import re
from typing import Any

_OBEYED = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069"
    "\\ud800-\\udfff]"
)
"""Control characters but line feeds and tabs, changes of direction, half characters."""


def printable(text: str) -> str:
    r"""Write characters that a terminal would obey, or not show, as escapes.

    Names of modules and adapters come from checkpoints and logs of others.

    Examples
    --------
    >>> from ftlab.records.printable import printable
    >>> printable("layers.0.größe")
    'layers.0.größe'
    >>> print(printable("head\x1b[2J"))
    head\x1b[2J
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii")
        for each in text
    )


def harmless(value: Any) -> Any:
    r"""Return a value as JSON has it; what a terminal would obey becomes an escape.

    Lines, tabs and characters that are only hard to see stay as they are.

    Examples
    --------
    >>> from ftlab.records.printable import harmless
    >>> print(harmless({"ended": ["bad\x1b[2J", "a\u202ab", 3]}))
    {'ended': ['bad\\x1b[2J', 'a\\u202ab', 3]}
    """
    if isinstance(value, str):
        return _OBEYED.sub(lambda found: printable(found[0]), value)
    if isinstance(value, list):
        return [harmless(each) for each in value]
    if isinstance(value, dict):
        return {harmless(key): harmless(each) for key, each in value.items()}
    return value
