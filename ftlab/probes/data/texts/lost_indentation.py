"""Python code that lost the white space it is nothing without."""

import ast
import re
import warnings
from collections.abc import Iterator

from ftlab.probes.data.answers.answer_faults import Placed, asks_about, is_answer
from ftlab.probes.data.rows.parts import RowParts
from ftlab.probes.data.texts.text_faults import TextFault

LONGEST = 20_000
"""Characters of a piece of code up to which it is parsed."""

_FENCED = re.compile(r"```(?:python|py)[ \t]*\n(.*?)\n```", re.DOTALL)
_BEGINS = re.compile(r"(?:(?:async )?def|class|import|from|@)[ \t]*\w")
_HEAD = re.compile(
    r"(?:(?:async )?(?:def|class|for|with)|while|if|elif|else|try|except|finally)\b"
    r"|\)"
)
"""How the line begins that a block follows: a head of several lines ends so."""

_COLON = re.compile(r":[ \t]*(?:#.*)?$")
_CLAUSE = re.compile(r"(?:elif|else|try|except|finally)\b.*")
_NO_BODY = re.compile(r"#|@|\.\.\.|\u2026|pass\b|(?:async )?def |class ")
"""What stands behind the head of a function where its body is left out."""

_ONE_LINE = re.compile(
    r"(?:```(?:python|py) )?"
    r"((?:async )?def \w+\([^{}]*\)(?: ?-> ?[\w\[\]., |\"']+)?: [^.].+)"
)
_NEXT = re.compile(
    r"[\w\])}\"'.] (?:return\b|raise\b|(?:self\.)?\w+ = "
    r"|(?:if|for|while|with) [^:]{1,80}: |try: )"
)
"""A statement behind another one, with a blank between them."""

STATEMENTS = 2
"""Statements in a comment that make it the rest of a function."""

_CALLED = frozenset("([{=")
"""What code holds, and a remark on what to return does not."""

_ASKED = re.compile(
    r"indent|white ?space|syntax|one.?line|(?:one|single) line|minif|debug|broken"
    r"|\b(?:fix|correct|format) (?:the|this|my|it)\b",
    re.IGNORECASE,
)
"""A prompt with one of these may be about code that cannot be read."""


def lost_indentation(row: RowParts) -> Iterator[Placed]:
    r"""Yield the answers and texts whose Python code lost its indentation or lines.

    Examples
    --------
    >>> from ftlab.probes.data.texts.lost_indentation import lost_indentation
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> code = "def f(x):\nif x < 0:\nreturn -x\nreturn x"
    >>> row = parts_of({"prompt": "How?", "completion": code})
    >>> [(fault.name, fault.char) for _, fault in lost_indentation(row)]
    [('lost-indentation', 10)]
    """
    for part in row.parts:
        said = row.kind == "text" or is_answer(part)
        fault = _fault_in(part.text) if said else None
        if fault is not None and not (row.kind != "text" and asks_about(row, _ASKED)):
            yield part, fault


def _fault_in(text: str) -> TextFault | None:
    if "\n" not in text:
        return _collapsed(text)
    if _BEGINS.match(text):
        at = _stripped(text)
        return None if at < 0 else _fault(at)
    if "```py" in text:
        for found in _FENCED.finditer(text):
            at = _stripped(found.group(1))
            if at >= 0:
                return _fault(found.start(1) + at)
    return None


def _fault(at: int) -> TextFault:
    return TextFault("lost-indentation", at, "a block of Python that is not indented")


def _stripped(code: str) -> int:
    """Return where the first block should be indented; -1 where none must.

    No line is indented, it cannot be read for that, and could be if the heads of its
    blocks had a body in their line.
    """
    if ":\n" not in code or "\n " in code or "\n\t" in code or len(code) > LONGEST:
        return -1
    at = _first_body(code)
    if at < 0 or _error_of(code) is not IndentationError:
        return -1
    lines = [_with_body(line) for line in code.split("\n")]
    return at if _error_of("\n".join(lines)) is None else -1


def _with_body(line: str) -> str:
    if not _COLON.search(line):
        return line
    return _COLON.sub(": pass", _CLAUSE.sub("if 1:", line))


def _first_body(code: str) -> int:
    """Return where the line behind the first head of a block begins; -1 without one."""
    at, opened = 0, False
    for line in code.split("\n"):
        if opened and line.strip() and not _NO_BODY.match(line):
            return at
        if line.strip() and not line.startswith("#"):
            opened = _HEAD.match(line) is not None and _COLON.search(line) is not None
        at += len(line) + 1
    return -1


def _collapsed(text: str) -> TextFault | None:
    """Find a function whose lines were joined by blanks."""
    if "def " not in text or len(text) > LONGEST:
        return None
    found = _ONE_LINE.match(text)
    if found is None:
        return None
    code = found.group(1).removesuffix("```")
    behind = _NEXT.search(code, code.index(": "))
    if behind is None or (_error_of(code) is None and not _swallowed(code)):
        return None
    at = found.start(1) + behind.start() + 2
    return TextFault("lost-indentation", at, "several lines of Python in one")


def _swallowed(code: str) -> bool:
    """Tell whether a comment in a line of code goes on with statements.

    One is enough behind nothing but a docstring, if it reads as code.
    """
    for at in (each.start() for each in re.finditer(" # ", code)):
        head = _parsed(code[:at])
        if head is None:
            continue  # the sign stands in a text
        behind = list(_NEXT.finditer(code, at))
        if len(behind) >= STATEMENTS:
            return True
        said = code[behind[0].start() + 2 :] if behind and _only_says(head) else ""
        return not _CALLED.isdisjoint(said) and _parsed(f"def f(): {said}") is not None
    return False


def _only_says(head: ast.Module) -> bool:
    """Tell whether a function has nothing but a docstring."""
    body = getattr(head.body[0], "body", [])
    return len(body) == 1 and isinstance(body[0], ast.Expr)


def _parsed(code: str) -> ast.Module | None:
    if _error_of(code) is not None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(code)


def _error_of(code: str) -> type[SyntaxError] | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in the code that is read
            ast.parse(code)
    except SyntaxError as error:
        return type(error)
    except (ValueError, MemoryError, RecursionError):
        return SyntaxError
    return None
