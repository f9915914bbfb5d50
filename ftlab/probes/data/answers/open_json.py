"""Answers in JSON that break off."""

import json
import re

from ftlab.probes.data.texts.text_faults import TextFault

BEGINS = re.compile(r"""(?:\{\s*"|\[\s*[\[{"])""")
"""How JSON begins that is more than a number in brackets."""

_WORDS = ("true", "false", "null")


def open_json(text: str) -> TextFault | None:
    """Return where JSON breaks off; ``None`` where it is whole, or no JSON.

    Examples
    --------
    >>> from ftlab.probes.data.answers.open_json import open_json
    >>> open_json('{"name": "Ada", "born": ')
    TextFault(name='unfinished-answer', char=23, says='ends within JSON')
    >>> open_json('{"name": "Ada"}'), open_json("[1] Ada"), open_json("{x} of")
    (None, None, None)
    """
    if not text.startswith(("{", "[")):
        return None
    opened = text.count("{") - text.count("}"), text.count("[") - text.count("]")
    if max(opened) <= 0 or not BEGINS.match(text):
        return None
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        if _breaks_off(text, error):
            return TextFault("unfinished-answer", len(text) - 1, "ends within JSON")
    except RecursionError:
        pass
    return None


def _breaks_off(text: str, error: json.JSONDecodeError) -> bool:
    """Tell whether nothing but the end is wrong."""
    if error.msg.startswith("Unterminated string"):
        return "\n" not in text[error.pos :].strip()
    left = text[error.pos :].strip(" \t\r\n,:")
    return not left or any(word.startswith(left) for word in _WORDS)
