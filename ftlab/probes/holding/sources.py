"""Where user code puts something into a name: found in its source, by the syntax."""

import ast
import linecache
import re
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

from ftlab.probes.holding.walk import own_modules

GROWING = frozenset(
    {
        "add",
        "append",
        "appendleft",
        "extend",
        "insert",
        "put",
        "put_nowait",
        "register_forward_hook",
        "register_forward_pre_hook",
        "register_full_backward_hook",
        "register_hook",
        "setdefault",
        "update",
    }
)
"""Methods by which something is put into what they are called on."""

_CELL = re.compile(r".*/ipykernel_\d+/\d+\.py$")

MOST_LINES = 3
"""Places that are told of one name."""


def growing_lines(
    name: str, files: Collection[str] = ()
) -> tuple[tuple[str, str], ...]:
    """Return where something is put into a variable or attribute called ``name``.

    Parameters
    ----------
    name
        The last part of the path: ``"losses"``.
    files
        Where to look first; elsewhere only if nothing is found there.

    Returns
    -------
    tuple of (place, line)
        ``("train.py:12", "losses.append(loss)")``, ``("cell 7, line 2", ...)``; at most
        `MOST_LINES`.
    """
    found: list[tuple[str, str]] = []
    known = sorted(_sources(), key=lambda each: each[0] not in files)
    for file, text in known:
        if found and files and file not in files:
            break
        if name not in text:
            continue
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):  # magics of a cell, or no Python
            continue
        lines = text.splitlines()
        for number in sorted({node.lineno for node in _growing(tree, name)}):
            found.append((shown_place(file, number), lines[number - 1].strip()))
    return tuple(found[:MOST_LINES])


def _growing(tree: ast.AST, name: str) -> Iterator[ast.stmt | ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in GROWING and _is_called(node.func.value, name):
                yield node
        elif isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            again = isinstance(node, ast.AugAssign) or any(
                _is_called(each, name) for each in ast.walk(node.value)
            )
            for target in targets:
                whole = target.value if isinstance(target, ast.Subscript) else target
                if _is_called(whole, name) and (again or whole is not target):
                    yield node


def _is_called(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Name):
        return node.id == name
    return isinstance(node, ast.Attribute) and node.attr == name


def _cells() -> Iterator[tuple[str, str]]:
    """Yield the cells that a notebook has run, the latest last."""
    main = sys.modules.get("__main__")
    cells = vars(main).get("In") if main is not None else None
    if isinstance(cells, list):
        for number, text in enumerate(cells):
            if isinstance(text, str) and text:
                yield f"cell {number}", _body(text)


def _body(text: str) -> str:
    """Return what a cell's magic runs, one line below where it stood."""
    if not text.startswith("get_ipython().run_cell_magic("):
        return text
    try:
        call = ast.parse(text).body[0].value  # type: ignore[attr-defined]
        return "\n" + str(ast.literal_eval(call.args[2]))
    except (SyntaxError, ValueError, AttributeError, IndexError):
        return text


def _sources() -> Iterator[tuple[str, str]]:
    yield from _cells()
    files = dict.fromkeys(getattr(e, "__file__", None) or "" for e in own_modules())
    for file in files:
        if file.endswith(".py"):
            yield file, "".join(linecache.getlines(file))


def shown_place(file: str, number: int) -> str:
    """Write a line's place: ``"train.py:12"``, or ``"cell 7, line 2"``."""
    if _CELL.match(file):
        text = "".join(linecache.getlines(file)).rstrip()
        same = [name for name, each in _cells() if each.rstrip() == text]
        file = same[-1] if same else "a cell"
    if file.startswith(("cell ", "a cell")):
        return f"{file}, line {number}"
    return f"{Path(file).name}:{number}"
