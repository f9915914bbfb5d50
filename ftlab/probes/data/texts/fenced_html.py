"""HTML's entities and line ends that were left in blocks of code."""

import re
from collections.abc import Iterator

from ftlab.probes.data.answers.answer_faults import Placed
from ftlab.probes.data.rows.parts import RowParts
from ftlab.probes.data.texts.text_faults import TextFault

FEWEST = 2
"""Entities of a block, and lines that end with a tag, from which on it is told."""

_BLOCK = re.compile(r"```([\w+#-]*)(?:<br ?/?>)?[ \t]*\n(.*?)(?:\n```|\Z)", re.DOTALL)
_WEB = re.compile(
    r"x?html?|xml|svg|php|jsx?|tsx?|javascript|typescript|vue|svelte|markdown|md|erb"
    r"|jinja2?|twig|css|latex|tex",
    re.IGNORECASE,
)
"""Languages in which entities and tags are code."""

_ENTITY = re.compile("&(?:quot|amp|apos|lt|gt|#39|#x27|#34);")
_OPERATOR = re.compile(
    r"^[^\n\"'`#]*(?:[\w)\]](?: ?[-=]&gt;| &[lg]t;=?| &amp;&amp;) ?(?=[\w(\[\"'{-])"
    r"|\w&lt;\w[\w, ]*&gt;)",
    re.MULTILINE,
)
"""An entity in place of an operator, in a line without quotes before it."""

_BREAK = re.compile(r"<br ?/?>$", re.MULTILINE)
_MARK = re.compile(r"^```[\w+#-]*<br ?/?>$", re.MULTILINE)
_ABOUT = re.compile(r"html|xml|entit|unescape|markup|<br", re.IGNORECASE)


def fenced_html(row: RowParts) -> Iterator[Placed]:
    r"""Yield the texts with blocks of code that are written as HTML writes them.

    Examples
    --------
    >>> from ftlab.probes.data.texts.fenced_html import fenced_html
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> code = "```c\nif (a &lt; b &amp;&amp; c &gt; 0)\n  f(a);\n```"
    >>> row = parts_of({"prompt": "How?", "completion": code})
    >>> [(fault.name, fault.says) for _, fault in fenced_html(row)]
    [('html-entities', "'&lt;' in a block of code")]
    """
    for part in row.parts:
        if "```" not in part.text:
            continue
        if "<br" in part.text and (fault := _breaks(part.text)):
            yield part, fault
        fault = _entities(part.text) if "&" in part.text else None
        if fault is not None and not _speaks_of_it(row):
            yield part, fault


def _speaks_of_it(row: RowParts) -> bool:
    return any(_ABOUT.search(_BREAK.sub("", part.text)) for part in row.parts)


def _breaks(text: str) -> TextFault | None:
    """Find a block whose own marks are followed by a tag, as nothing is in a file."""
    found = _MARK.search(text)
    if found is None or len(_BREAK.findall(text)) < FEWEST:
        return None
    at = text.index("<br", found.start())
    return TextFault("html-tags", at, "'<br>' behind the mark of a block of code")


def _entities(text: str) -> TextFault | None:
    for block in _BLOCK.finditer(text):
        if _WEB.fullmatch(block.group(1)):
            continue
        code = _BREAK.sub("", block.group(2))
        found = _ENTITY.findall(code)
        alone = block.group(1) != "" and _OPERATOR.search(code) is not None
        if (len(found) >= FEWEST or alone) and _is_whole(code, found):
            at = text.index(found[0], block.start())
            says = f"{found[0]!r} in a block of code"
            return TextFault("html-entities", at, says)
    return None


def _is_whole(code: str, found: list[str]) -> bool:
    """Tell whether code has no sign but as an entity: code about entities has both."""
    rest = _ENTITY.sub("", code)
    quotes = "&quot;" in found or "&#34;" in found
    return not any(sign in rest for sign in ("<", ">", "&", *('"' * quotes)))
