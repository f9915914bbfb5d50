"""Training loops that cannot be made re-callable, refused by name."""

import ast

from ftlab.records.errors import NotReplayableError
from ftlab.session.debugging.step_scope import Loop, inside

INSTEAD = (
    "Write the step as a function and use ftlab.debug(step, batches, model=model, "
    "optimizer=optimizer) instead."
)
_OWN_NAMES = ("locals", "vars", "dir", "exec", "super")


def refuse(loop: Loop) -> None:
    """Raise if the body of ``loop`` cannot be called again as a function.

    Raises
    ------
    NotReplayableError
        The message names the line, what stands there, and what works instead.
    """
    if isinstance(loop.node, ast.AsyncFor):
        _raise(loop.node, "an `async for` loop")
    for node in inside(loop.node.body):
        what = _obstacle(node)
        if what:
            _raise(node, what)


def _obstacle(node: ast.AST) -> str:
    match node:
        case ast.Await() | ast.AsyncFor() | ast.AsyncWith():
            return "`await` in the loop's body"
        case ast.Yield() | ast.YieldFrom():
            return "`yield` in the loop's body"
        case ast.ImportFrom(names=[ast.alias(name="*")]):
            return "`import *` in the loop's body"
        case ast.Call(func=ast.Name(id=name), args=[]) if name in _OWN_NAMES:
            return f"`{name}()` in the loop's body"
        case ast.Call(func=ast.Name(id="exec")):
            return "`exec()` in the loop's body"
    return ""


def _raise(node: ast.AST, what: str) -> None:
    line = getattr(node, "lineno", 0)
    msg = (
        f"Line {line}: {what} prevents it from being executed again as a step. "
        f"{INSTEAD}"
    )
    raise NotReplayableError(msg)
