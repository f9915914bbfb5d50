"""Expressions that are typed at a stop, evaluated with what can be seen there."""

import ast
import builtins
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from ftlab.records.errors import BadValueError

if TYPE_CHECKING:
    from ftlab.session.debugging.debugger import Debugger

OPERANDS = ("x", "y", "z")
"""Names of the first arguments of what is replaced."""

_SEEN = ("tensor", "inputs", "batch", "parameters")


class Expressions:
    """Evaluates text where the run waits.

    Names are looked up among the local variables of the innermost code of the user,
    then among ``tensor``, ``inputs``, ``batch`` and ``parameters`` of the stop, then
    among the globals of that code. Tensors are copies.

    Parameters
    ----------
    debugger
        The run that is paused.
    """

    def __init__(self, debugger: "Debugger") -> None:
        self._debugger = debugger

    def value(self, text: str) -> Any:
        """Return what ``text`` evaluates to; what that raises passes through.

        Raises
        ------
        BadValueError
            When it is no expression.
        """
        tree = _parsed(text)
        return _evaluate(tree, self._names(tree))

    def function(self, text: str) -> Callable[..., Any]:
        """Return a function of ``x``, ``y``, ``z`` and keywords that ``text`` defines.

        Other names have the values that they have now.

        Raises
        ------
        BadValueError
            When it is no expression.
        """
        tree = _parsed(text)
        names = self._names(tree)

        def evaluated(*args: Any, **kwargs: Any) -> Any:
            given = dict(zip(OPERANDS, args, strict=False))
            return _evaluate(tree, names | given | kwargs)

        return evaluated

    def _names(self, tree: ast.Expression) -> dict[str, Any]:
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        here = self._debugger.locals
        seen = {n: getattr(self._debugger, n) for n in _SEEN if n in used - {*here}}
        return {"torch": torch} | here.scope(used) | seen


def _parsed(text: str) -> ast.Expression:
    try:
        return ast.parse(text.strip(), "<prompt>", "eval")
    except SyntaxError as error:
        msg = f"{text!r} is not an expression: {error.msg}."
        raise BadValueError(msg) from None


def _evaluate(tree: ast.Expression, names: dict[str, Any]) -> Any:
    # One dictionary: code within it, of a generator for one, sees no other.
    return eval(compile(tree, "<prompt>", "eval"), {"__builtins__": builtins, **names})
