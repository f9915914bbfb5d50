"""Where user code puts something into a name, or takes it out, by the syntax."""

import ast
import linecache
import re
import sys
from collections.abc import Callable, Collection, Iterator
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

EMPTYING = frozenset({"clear", "discard", "pop", "popitem", "popleft", "remove"})
"""Methods by which something is taken out again."""

_CELL = re.compile(r".*/ipykernel_\d+/\d+\.py$")

MOST_LINES = 3
"""Places that are told of one name."""


Lines = tuple[tuple[str, str], ...]

_Asked = Callable[[ast.AST, str, bool], bool]


def growing_lines(
    name: str, files: Collection[str] = (), scopes: Collection[str] = ()
) -> Lines:
    """Return where something is put into a variable or attribute called ``name``.

    Parameters
    ----------
    name
        The last part of the path: ``"losses"``.
    files
        Where to look first; elsewhere only if nothing is found there.
    scopes
        The functions that have the variable, ``"train()"``, and the classes of what is
        on the way to it: a variable of another function is another one, and so is an
        attribute of another class's ``self``.

    Returns
    -------
    tuple of (place, line)
        ``("train.py:12", "losses.append(loss)")``, ``("cell 7, line 2", ...)``; at most
        `MOST_LINES`.
    """
    found = _lines(_growing, name, files, scopes)
    return found or _lines(_growing, name, (), scopes)


def emptying_lines(
    name: str, files: Collection[str] = (), scopes: Collection[str] = ()
) -> Lines:
    """Return where something is taken out again, in ``files``; see `growing_lines`."""
    return _lines(_emptying, name, files, scopes)


def _lines(
    asked: _Asked, name: str, files: Collection[str], scopes: Collection[str]
) -> Lines:
    found: list[tuple[str, str]] = []
    for file, text in _sources():
        if name not in text or (files and file not in files):
            continue
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):  # magics of a cell, or no Python
            continue
        lines = text.splitlines()
        numbers = set(_met(asked, tree, name, frozenset(scopes)))
        for number in sorted(numbers):
            found.append((shown_place(file, number), lines[number - 1].strip()))
    return tuple(found[:MOST_LINES])


def _met(
    asked: _Asked, tree: ast.AST, name: str, scopes: frozenset[str]
) -> Iterator[int]:
    """Yield the lines of what is asked for, where ``name`` is the one that is meant."""
    left: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(tree, ())]
    while left:
        node, around = left.pop()
        repeated = any(isinstance(each, ast.For | ast.While) for each in around)
        if isinstance(node, ast.expr | ast.stmt) and asked(node, name, repeated):
            target = next(e for e in ast.walk(node) if _is_called(e, name))
            if _is_meant(target, around, scopes):
                yield node.lineno
        inner = (*around, node) if isinstance(node, _BLOCKS) else around
        left += [(child, inner) for child in ast.iter_child_nodes(node)]


def _is_meant(
    target: ast.AST, around: tuple[ast.AST, ...], scopes: frozenset[str]
) -> bool:
    if isinstance(target, ast.Attribute):
        own = isinstance(target.value, ast.Name) and target.value.id == "self"
        outer = {e.name for e in around if isinstance(e, ast.ClassDef)}
        return not (own and outer) or bool(outer & scopes)
    outer = {f"{e.name}()" for e in around if isinstance(e, _FUNCTIONS)}
    functions = {each for each in scopes if each.endswith("()")}
    return not functions or bool(outer & functions)


_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
_BLOCKS = ast.ClassDef | _FUNCTIONS | ast.For | ast.While


def _growing(node: ast.AST, name: str, _repeated: bool) -> bool:
    if isinstance(node, ast.Call):
        return _calls(node, name, GROWING)
    if not isinstance(node, ast.Assign | ast.AugAssign):
        return False
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    again = isinstance(node, ast.AugAssign) or any(
        _is_called(each, name) for each in ast.walk(node.value)
    )
    for target in targets:
        whole = target.value if isinstance(target, ast.Subscript) else target
        if _is_called(whole, name) and (again or whole is not target):
            return not _is_cut(node.value, name)
    return False


def _emptying(node: ast.AST, name: str, repeated: bool) -> bool:
    if isinstance(node, ast.Call):
        return _calls(node, name, EMPTYING)
    if isinstance(node, ast.Delete):
        parts = (e.value for e in node.targets if isinstance(e, ast.Subscript))
        return any(_is_called(each, name) for each in parts)
    if not isinstance(node, ast.Assign):
        return False
    anew = isinstance(node.value, ast.List | ast.Dict) and not any(
        isinstance(each, ast.Name) for each in ast.walk(node.value)
    )
    given = any(_is_called(each, name) for each in node.targets)
    return given and ((repeated and anew) or _is_cut(node.value, name))


def _is_cut(value: ast.AST, name: str) -> bool:
    """Tell ``name[-25:]``."""
    return isinstance(value, ast.Subscript) and _is_called(value.value, name)


def _calls(node: ast.Call, name: str, methods: frozenset[str]) -> bool:
    method = node.func
    return (
        isinstance(method, ast.Attribute)
        and method.attr in methods
        and _is_called(method.value, name)
    )


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
