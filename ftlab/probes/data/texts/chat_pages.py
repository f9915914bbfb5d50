"""Words of the web page of a chat that were copied with its answers."""

import re
from collections.abc import Iterator

from ftlab.probes.data.answers.answer_faults import Placed, asks_about
from ftlab.probes.data.rows.parts import RowParts
from ftlab.probes.data.texts.text_faults import TextFault

_LANGUAGE = (
    r"(?:python|py|bash|shell|sh|powershell|javascript|js|jsx|typescript|tsx?|java|c"
    r"|cpp|c\+\+|c#|csharp|css|html|xml|json|yaml|toml|sql|go|rust|ruby|php|perl|r|swift"
    r"|kotlin|scala|lua|matlab|latex|markdown|plaintext|text|dart|haskell|dockerfile"
    r"|makefile|vbnet|vba|arduino|scss|less|graphql|diff|ini|objectivec|julia)"
)
_BUTTON = re.compile(
    rf"^({_LANGUAGE}\n[ \t]*(?:Copy code|CopyEdit|Copy\nEdit|Copy))[ \t]*\n(?=[^\n])"
    r"|^(Copy code)[ \t]*\n(?=[^\n])",
    re.IGNORECASE | re.MULTILINE,
)
"""The name of a language and the button beside it, on lines of their own."""

_END = re.compile(
    r"\n[ \t]*(Regenerate response|Was this response better or worse\?(?:\s*Better\s*"
    r"Worse\s*Same)?|Is this conversation helpful so far\?|ChatGPT can make mistakes\."
    r"[^\n]{0,80})(?:\s+\d+ ?/ ?\d+)?\s*\Z"
)
_BEGIN = re.compile(r"\s*(ChatGPT(?: said:)?)\n+(?=[^\n]{40})")
"""The name of the speaker; in a list of names other short lines follow."""

PAGE = (
    *("ChatGPT", "Copy", "Regenerate response"),
    *("Was this response", "Is this conversation"),
)
"""Words of which a page holds one."""

_ASKED = re.compile(
    r"chat ?gpt|\bbuttons?\b|copy code|\bpage\b|\bui\b|interface|regenerate|clipboard"
    r"|which model|chat ?bot",
    re.IGNORECASE,
)
"""A prompt with one of these may be answered by such words."""


def chat_pages(row: RowParts) -> Iterator[Placed]:
    r"""Yield the answers that hold words of the page that they were copied from.

    Examples
    --------
    >>> from ftlab.probes.data.texts.chat_pages import chat_pages
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> row = parts_of({"prompt": "How?", "completion": "python\nCopy code\nf(x)"})
    >>> [(fault.name, fault.says) for _, fault in chat_pages(row)]
    [('chat-page-words', "'python\\nCopy code'")]
    """
    for part in row.answers:
        fault = _words(part.text)
        if fault is not None and not asks_about(row, _ASKED):
            yield part, fault


def _words(text: str) -> TextFault | None:
    found = _BEGIN.match(text) or _END.search(text)
    if found is None and "Copy" in text and text.count("```") % 2 == 0:
        found = next((f for f in _BUTTON.finditer(text) if _is_outside(text, f)), None)
    if found is None:
        return None
    said = next(filter(None, found.groups()))
    return TextFault("chat-page-words", text.index(said, found.start()), repr(said))


def _is_outside(text: str, found: re.Match[str]) -> bool:
    """Tell whether a button stands in no block of code."""
    return text.count("```", 0, found.start()) % 2 == 0
