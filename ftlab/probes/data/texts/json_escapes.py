r"""Texts that were written as JSON twice and read once: ``\n`` is two characters."""

import json
import re
from collections.abc import Iterator

from ftlab.probes.data.rows.parts import Placed, RowParts, TextFault

_LINE_END = re.compile(
    r"(?<=[\w.,:;!?)])(?:\\r)?\\n(?:(?:\\r)?\\n|(?=[A-Z#*\u2022-]|\d+[.)] |\Z))"
    r"|(?<=[:{;])(?:\\r)?\\n(?: {2}| {4}|\\t)(?=[\w\\\"'#@])"
)
"""Behind what ends a line, before what begins one: LaTeX and paths have neither."""

_QUOTE = re.compile(r"(?<!\\)[\"`]")
_QUOTED = re.compile(r"(?:^|[\s(=\[{,:+$]|\b[bfru]{1,2})'(?:[^'\\]|\\.)*\Z", re.I)
"""A text in single quotes, as code opens it: an apostrophe stands behind a letter."""

_ASKED = re.compile(r"literal|escap|json|seriali[sz]|\bdumps\b|\brepr\b|\bquot", re.I)
"""A prompt with one of these may be answered by a text in quotes, with escapes."""

FEWEST = 2
"""Such line ends from which on a text is told, unless one is doubled."""


def escaped_texts(row: RowParts) -> Iterator[Placed]:
    r"""Yield the texts of a row that were not read back.

    Examples
    --------
    >>> from ftlab.probes.data.rows.formats import parts_of
    >>> from ftlab.probes.data.texts.json_escapes import escaped_texts
    >>> row = parts_of({"prompt": "Why?", "completion": r"So.\n\nAnd so."})
    >>> [(fault.name, fault.char) for _, fault in escaped_texts(row)]
    [('escaped-text', 3)]
    """
    for part in row.parts:
        text = part.text
        if "\\" not in text:
            continue
        if text.startswith('"') and _is_json(text) and not row.asks_about(_ASKED):
            says = "a whole text in JSON's quotes and escapes"
            yield part, TextFault("escaped-text", 0, says)
        elif "\\n" in text and "\n" not in text.strip() and (at := _line_end(text)) > 0:
            says = r"\n in two characters, and no line end"
            yield part, TextFault("escaped-text", at, says)


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), str)
    except ValueError:
        return False


def _line_end(text: str) -> int:
    r"""Return where line ends begin to be a backslash and an n; -1 where they are not.

    Within quotes and in LaTeX or paths they are meant.
    """
    found = [each for each in _LINE_END.finditer(text) if not _is_quoted(text, each)]
    doubled = any(
        each.group().count("n") == FEWEST or each.group().endswith((" ", "t"))
        for each in found
    )
    return found[0].start() if doubled or len(found) >= FEWEST else -1


def _is_quoted(text: str, found: re.Match[str]) -> bool:
    before = text[: found.start()]
    signs = _QUOTE.findall(before)
    odd = signs.count('"') % 2 or signs.count("`") % 2
    return bool(odd) or _QUOTED.search(before) is not None
