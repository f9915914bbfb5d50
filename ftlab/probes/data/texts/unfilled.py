"""Fields of a template within an answer that nobody filled in."""

import re
from collections.abc import Iterator

from ftlab.probes.data.answers.answer_faults import Placed, asks_about
from ftlab.probes.data.rows.parts import RowParts
from ftlab.probes.data.texts.text_faults import TextFault

NAMES = (
    *("CONTEXT", "QUESTION", "TEXT", "INPUT", "ARTICLE"),
    *("DOCUMENT", "REVIEW", "PASSAGE", "QUERY", "SENTENCE"),
)
"""What a field is called that stands in square brackets."""

_FIELD = re.compile(
    r"\{(?<![^\s\"\u201c(]\{)(\{ ?)?([a-z]{3,}(?:_[a-z]+)*)(?(1) ?\})\}"
    r"(?=[\s.,;:!?\"\u201d)]|\Z)"
)
_CODE = re.compile(
    r"[`=\\$<]|\w\(|;\n|^\s*(?:def|class|import|from|for|if|return|select)\b|\bf[\"']",
    re.IGNORECASE | re.MULTILINE,
)
"""What stands in code and formulas."""

_ASKED = re.compile(
    r"[{}]|template|place-?holder|variable|format|f-?string|prompt|mustache|jinja"
    r"|\bcode|snippet|script|syntax|\bfields?\b|config|\burl|route",
    re.IGNORECASE,
)
"""A prompt with one of these may be answered with fields."""


def unfilled(row: RowParts) -> Iterator[Placed]:
    """Yield the answers in which a field of a template was left.

    Examples
    --------
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> from ftlab.probes.data.texts.unfilled import unfilled
    >>> row = parts_of({"prompt": "Why?", "completion": "It is {main_reason}."})
    >>> [(fault.name, fault.says) for _, fault in unfilled(row)]
    [('unfilled-field', "'{main_reason}'")]
    """
    for part in row.answers:
        fault = _field(part.text) if "{" in part.text else None
        if fault is not None and not asks_about(row, _ASKED):
            yield part, fault


def _field(text: str) -> TextFault | None:
    """Find a field: of two words, or one of several; a single word may be a set."""
    found = list(_FIELD.finditer(text))
    names = {each.group(2) for each in found}
    several = len(names) > 1 or any("_" in name for name in names)
    if not several or found[0].group() == text.strip() or _CODE.search(text):
        return None
    first = found[0]
    return TextFault("unfilled-field", first.start(), repr(first.group()))
