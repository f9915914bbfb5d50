r"""Texts that were written down in a form of another program, and not read back.

JSON's escapes, HTML's entities, the lines of a printed page.
"""

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

from ftlab.probes.data.answers.answer_faults import Placed, asks_about, is_answer
from ftlab.probes.data.rows.parts import Part, RowParts
from ftlab.probes.data.texts.text_faults import TextFault

FEWEST = 2
"""Marks of a form from which on a text is told."""

PER_PAGE = 1500
"""Characters of a page: words are hyphenated at least once on each."""

_ENTITY = re.compile("&(?:quot|amp|apos|nbsp|lt|gt|#39|#x27|#34);")
_LISTED = re.compile(r"&[#\w]*;(?:[ \t,|/]+&[#\w]*;){2,}|&;")
"""Entities side by side, or one without a name: a text about them, in any language."""

LISTED = 3
"""Different ones that make a list of them."""

_MARKUP = re.compile(r"</?[A-Za-z!]|```|html|xml|entit|escap", re.IGNORECASE)
_HYPHENATED = re.compile(r"[ \t][^\s-]*([a-z]{2}-\n[a-z]{2})(?![a-z]*-)")
"""A halved word; alone on its line it is an entry of a list, as ``pre-`` is.

With another hyphen it is a compound, which has this one too.
"""

_LINE_END = re.compile(
    r"(?<=[\w.,:;!?)])(?:\\r)?\\n(?:(?:\\r)?\\n|(?=[A-Z#*\u2022-]|\d+[.)] |\Z))"
    r"|(?<=[:{;])(?:\\r)?\\n(?: {2}| {4}|\\t)(?=[\w\\\"'#@])"
)
_FENCED = re.compile(r"```\w*\\n")
_QUOTES = [re.compile(rf"(?<!\\){quote}") for quote in '"`']
_QUOTED = re.compile(
    r"(?:^|[\s(=\[{,:+$]|\b[bfru]{1,2})'(?:[^'\\]|\\.)*\Z", re.IGNORECASE
)
"""A text in single quotes, as code opens it: an apostrophe stands behind a letter."""

LITERALS = re.compile(
    r"literal|escap|json|serialis|serializ|\bdumps\b|\brepr\b"
    r"|\bquot(?:e[ds]?|ing|ation)",
    re.IGNORECASE,
)
"""A prompt with one of these may be answered by a text in quotes, with escapes."""

WRAPPERS = frozenset({"answer", "output", "response", "text", "content", "completion"})
"""Keys under which programs keep an answer."""

_ARRAY = re.compile(r"\s*(?:\{'|\[|array\().{0,200}array\(|\s*array\(", re.DOTALL)
_OF_ARRAYS = re.compile(
    r"numpy|\barrays?\b|dtype|pandas|dataframe|\bprint|\boutputs?\b|tensor|\brepr\b",
    re.IGNORECASE,
)
"""A prompt with one of these may be answered by an array as Python shows it."""

KEYS = 3
"""Keys of a dictionary that holds an answer and what is known of it."""


def written_forms(row: RowParts) -> Iterator[Placed]:
    r"""Yield the texts of a row that were not read back.

    Examples
    --------
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> from ftlab.probes.data.texts.written_forms import written_forms
    >>> row = parts_of({"prompt": "Why?", "completion": "So.\\n\\nAnd &quot;so&quot;."})
    >>> [(fault.name, fault.char) for _, fault in written_forms(row)]
    [('escaped-text', 3), ('html-entities', 11)]
    """
    for part in row.parts:
        text = part.text
        if "\\" in text and (fault := _escaped(text, row)):
            yield part, fault
        if text.startswith("{") and is_answer(part) and (fault := _wrapped(text, row)):
            yield part, fault
        if "dtype=" in text and is_answer(part) and (fault := _array(text, row)):
            yield part, fault
        if "&" in text and (fault := _entities(text, row)):
            yield part, fault
        if "-\n" in text and (fault := _hyphenated(text)):
            yield part, fault


def _escaped(text: str, row: RowParts) -> TextFault | None:
    if text.startswith('"') and text.endswith('"') and is_json_text(text):
        if asks_about(row, LITERALS):
            return None
        return TextFault("escaped-text", 0, "a whole text in JSON's quotes and escapes")
    if "\\n" not in text or "\n" in text.strip():
        return None
    found = is_escaped(text)
    if found < 0:
        return None
    return TextFault("escaped-text", found, r"\n in two characters, and no line end")


def is_escaped(text: str) -> int:
    r"""Return where line ends begin to be a backslash and an n; -1 where they are not.

    Within quotes and in LaTeX or paths they are meant.

    Examples
    --------
    >>> from ftlab.probes.data.texts.written_forms import is_escaped
    >>> is_escaped(r"First:\n- one\n- two"), is_escaped(r"print('A\nB')\nC")
    (6, -1)
    """
    if fenced := _FENCED.search(text):
        return fenced.end() - 2
    found = [each for each in _LINE_END.finditer(text) if not _quoted(text, each)]
    doubled = any(
        each.group().count("n") == FEWEST or each.group().endswith((" ", "t"))
        for each in found
    )
    return found[0].start() if doubled or len(found) >= FEWEST else -1


def _quoted(text: str, found: re.Match[str]) -> bool:
    before = text[: found.start()]
    odd = any(len(quote.findall(before)) % 2 for quote in _QUOTES)
    return odd or _QUOTED.search(before) is not None


def is_json_text(text: str) -> bool:
    """Tell whether a whole text is one string of JSON, with its quotes.

    Examples
    --------
    >>> from ftlab.probes.data.texts.written_forms import is_json_text
    >>> is_json_text('"So."'), is_json_text('"So" and "so"')
    (True, False)
    """
    try:
        return isinstance(json.loads(text), str)
    except ValueError:
        return False


def _wrapped(text: str, row: RowParts) -> TextFault | None:
    """Find a dictionary that holds the answer: as Python, or with nothing else."""
    held = _dictionary(text)
    if held is None:
        return None
    keys = [key for key in held if key in WRAPPERS and isinstance(held[key], str)]
    most = KEYS if text.startswith("{'") else 1
    if len(keys) != 1 or len(held) > most or _asks_for(row, "json", "dict"):
        return None
    return TextFault("wrapped-answer", 0, f"a dictionary with {', '.join(held)}")


def _dictionary(text: str) -> dict[str, Any] | None:
    if not text.rstrip().endswith("}") or text[1:2] not in ("'", '"'):
        return None
    try:
        read = ast.literal_eval(text) if text[1] == "'" else json.loads(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    whole = isinstance(read, dict) and all(isinstance(key, str) for key in read)
    return read if whole else None


def _array(text: str, row: RowParts) -> TextFault | None:
    """Find an array, or a dictionary or list of some, as Python shows it."""
    found = _ARRAY.match(text)
    if found is None or not text.rstrip().endswith((")", "]", "}")):
        return None
    if asks_about(row, _OF_ARRAYS):
        return None
    return TextFault("array-as-text", text.index("array("), f"begins {text[:40]!r}")


def _asks_for(row: RowParts, *words: str) -> bool:
    asked = [part.text.casefold() for part in row.parts if not is_answer(part)]
    return any(word in text for text in asked for word in words)


def _entities(text: str, row: RowParts) -> TextFault | None:
    found = [
        each
        for each in _ENTITY.finditer(text)
        if text.count("`", 0, each.start()) % 2 == 0
    ]
    if len(found) < FEWEST or any(map(_speaks_of_markup, row.parts)):
        return None
    if any(map(_is_list, _LISTED.findall(text))):
        return None
    return TextFault("html-entities", found[0].start(), repr(found[0].group()))


def _is_list(listed: str) -> bool:
    return listed == "&;" or len(set(re.findall(r"&[#\w]*;", listed))) >= LISTED


def _speaks_of_markup(part: Part) -> bool:
    return _MARKUP.search(part.text) is not None


def _hyphenated(text: str) -> TextFault | None:
    found = list(_HYPHENATED.finditer(text))
    if len(found) < max(FEWEST, len(text) // PER_PAGE):
        return None
    word = found[0].group(1).replace("\n", "\\n")
    return TextFault("hyphenated-lines", found[0].start(1), repr(word))
