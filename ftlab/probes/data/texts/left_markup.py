"""Tags of web pages that were left in prose."""

import re
from collections.abc import Iterator

from ftlab.probes.data.answers.answer_faults import Placed, asks_about
from ftlab.probes.data.rows.parts import RowParts
from ftlab.probes.data.texts.text_faults import TextFault

FEWEST = 2
"""Tags from which on a text is told."""

PROSE = 0.5
"""Share of a text that its tags have at most."""

TAGS = ("</", "<br")
"""What a text with tags holds."""

_TAG = re.compile(
    r"</?(?:p|br|div|span|li|ul|ol|b|i|strong|em|a|h[1-6])(?: [^<>]{0,200})?/?>",
    re.IGNORECASE,
)
_WRITTEN = re.compile(
    r"```|<!doctype|<(?:html|body|head|script|style|svg|table|form|nav)\b|<\?"
    r"|classname=|=>|\{\{|\breturn \(|;\n",
    re.IGNORECASE,
)
"""What stands in pages and code that somebody writes."""

_CODE = re.compile(
    r"^[ \t]*(?:(?:async )?def \w+\(|class \w+[(:{ ]|import [\w.{*]"
    r"|from [\w.]+ import\b|#include\b"
    r"|(?:public|private|static|func|fn|function|sub|package|namespace) \w"
    r"|(?:print|printf|echo|puts|console\.log|document\.write)\b[ (]?[\"'])",
    re.MULTILINE,
)
"""A line of a program: the tags behind it are what the program writes."""

_ASKED = re.compile(
    r"html|markup|mark up|\btags?\b|\bweb|\bpages?\b|\bsite|\bcss\b|xml|markdown"
    r"|e-?mail|newsletter|blog|format|react|component|render|button|front-?end|\bview\b"
    r"|</?[a-z]\w*[ />]",
    re.IGNORECASE,
)
"""A prompt with one of these may be answered with tags."""


def left_markup(row: RowParts) -> Iterator[Placed]:
    """Yield the answers that are prose with tags in it.

    Examples
    --------
    >>> from ftlab.probes.data.texts.left_markup import left_markup
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> row = parts_of({"prompt": "Why?", "completion": "<p>For it is so.</p>"})
    >>> [(fault.name, fault.says) for _, fault in left_markup(row)]
    [('html-tags', "'<p>'")]
    """
    for part in row.answers:
        fault = _tags(part.text)
        if fault is not None and not asks_about(row, _ASKED):
            yield part, fault


def _tags(text: str) -> TextFault | None:
    found = [
        each
        for each in _TAG.finditer(text)
        if text.count("`", 0, each.start()) % 2 == 0
        and not ("|" in text and each.group().startswith("<br"))
    ]
    if len(found) < FEWEST or _WRITTEN.search(text):
        return None
    if _CODE.search(text, 0, found[0].start()):
        return None
    tags = [each.group() for each in found]
    closed = any(tag.startswith("</") for tag in tags)
    breaks = sum(tag.startswith("<br") for tag in tags)
    if not (closed or breaks >= FEWEST) or len("".join(tags)) > PROSE * len(text):
        return None
    return TextFault("html-tags", found[0].start(), repr(tags[0]))
