"""The keys that code of the user's reads of a batch or of rows; read, not called."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

LIBRARIES = ("transformers", "trl", "peft", "torch", "accelerate")
"""Packages whose code reads only what is there."""

DEPTH = 3
"""Calls that a batch is followed through."""

_READERS = ("get", "pop")

_PASSED_ON = ("enumerate", "list", "reversed", "sorted", "zip")
"""Functions that give the rows that they are given."""


def is_own(function: Any) -> bool:
    """Tell whether a function is the user's, not a library's."""
    module = getattr(function, "__module__", None) or ""
    return callable(function) and module.partition(".")[0] not in LIBRARIES


def keys_read(
    function: Callable[..., Any],
    names: Iterable[str],
    owner: type,
    depth: int = DEPTH,
) -> Iterator[str]:
    """Yield the keys that a function reads of what it calls by one of ``names``.

    Parameters
    ----------
    names
        Of a batch, or of a list of rows: then of the rows as well.
    owner
        The class whose methods the function may hand them to.
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):  # there is no source to be had
        return
    names, known = _with_rows(tree, set(names)), _known_to(function)
    thrown = {id(value) for node in ast.walk(tree) if (value := _thrown(node))}
    for node in ast.walk(tree):
        if id(node) in thrown:
            continue
        key = _key(node, names)
        if key is not None:
            column = _constant(key, known)
            if column is not None:
                yield column
        elif isinstance(node, ast.Call) and depth:
            yield from _within(node, names, known, (owner, depth - 1))


def _known_to(function: Callable[..., Any]) -> dict[str, Any]:
    """Return what a function knows by name from outside."""
    known = inspect.getclosurevars(inspect.unwrap(function))
    return {**known.globals, **known.nonlocals}


def _thrown(node: ast.AST) -> ast.expr | None:
    """Return a value that nobody uses: of a key that is taken out, and left."""
    if isinstance(node, ast.Expr):
        return node.value
    if not isinstance(node, ast.Assign):
        return None
    left = all(isinstance(each, ast.Name) and each.id == "_" for each in node.targets)
    return node.value if left else None


def _key(node: ast.AST, names: set[str]) -> ast.expr | None:
    """Return the key of ``batch[key]``, ``batch.get(key)`` and ``batch.pop(key)``."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        return node.slice if _is_named(node.value, names) else None
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    reads = node.func.attr in _READERS and _is_named(node.func.value, names)
    return node.args[0] if reads and node.args else None


def _is_named(node: ast.expr, names: set[str]) -> bool:
    if isinstance(node, ast.Subscript):  # rows[0]
        first = isinstance(node.slice, ast.Constant) and type(node.slice.value) is int
        return first and _is_named(node.value, names)
    return isinstance(node, ast.Name) and node.id in names


def _with_rows(tree: ast.AST, names: set[str]) -> set[str]:
    """Add what a function calls the rows that it goes through."""
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.comprehension) and _goes_through(
            node.iter, names
        ):
            found = (each for each in ast.walk(node.target))
            names |= {each.id for each in found if isinstance(each, ast.Name)}
    return names


def _goes_through(node: ast.expr, names: set[str]) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        known = node.func.id in _PASSED_ON
        return known and any(_goes_through(each, names) for each in node.args)
    return _is_named(node, names)


def _constant(node: ast.expr, known: Mapping[str, Any]) -> str | None:
    """Return a key that is written out, or is a constant from outside."""
    if isinstance(node, ast.Name):
        value = known.get(node.id)
    else:
        value = getattr(node, "value", None)
    return value if isinstance(value, str) else None


def _within(
    call: ast.Call,
    names: set[str],
    known: Mapping[str, Any],
    further: tuple[type, int],
) -> Iterator[str]:
    """Follow a batch that is handed to another function of the user's."""
    owner, depth = further
    called: Any = None
    skipped = 0
    if isinstance(call.func, ast.Name):
        called = known.get(call.func.id)
    elif isinstance(call.func, ast.Attribute) and _is_named(call.func.value, {"self"}):
        called, skipped = getattr(owner, call.func.attr, None), 1
    if not inspect.isfunction(called) or not is_own(called):
        return
    parameters = list(inspect.signature(called).parameters)[skipped:]
    given = zip(parameters, call.args, strict=False)
    inside = {name for name, value in given if _is_named(value, names)}
    inside |= {k.arg for k in call.keywords if k.arg and _is_named(k.value, names)}
    if inside:
        yield from keys_read(called, inside, owner, depth)
