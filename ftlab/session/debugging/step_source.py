"""Make the body of a training loop a function of its own, which can be called again.

Only the syntax tree is looked at. The innermost loop that calls ``backward`` becomes

    for batch in loader:
        def __ftlab_step__():
            global loss, total          # nonlocal where the loop is in a function
            for __ftlab_turn__ in (None,):
                ...                     # the body as it was, lines and all
            else:
                return None             # it ran through, or said continue
            return ()                   # it said break
        __ftlab_end__ = __ftlab__.step(__ftlab_step__, ("total",), {"batch": batch})
        if __ftlab_end__ is not None:
            break

and everything else stays. A ``return`` in the body hands out a tuple with its value.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from ftlab.session.debugging.step_scope import (
    Loop,
    assigned,
    changed,
    global_names,
    nested_functions,
)
from ftlab.session.debugging.step_syntax import refuse

RUNNER = "__ftlab__"
"""The name under which the code finds what runs its steps."""

LEFTOVERS = (RUNNER, "__ftlab_step__", "__ftlab_end__")
"""Names that the code leaves in its namespace."""

Trains = Callable[[str], bool]
"""Says whether a function of this name, defined elsewhere, does one step."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What became of the code.

    Attributes
    ----------
    tree
        The code with its training loops rewritten.
    steps
        How many loops there are.
    functions
        Functions at the top of the code that a loop is in.
    """

    tree: ast.Module
    steps: int
    functions: tuple[str, ...]


def rewrite(tree: ast.Module, trains: Trains = lambda _: False) -> Rewritten:
    r"""Rewrite every training loop in ``tree``, in place.

    Parameters
    ----------
    tree
        A cell or a script.
    trains
        Asked for each function that a loop calls by name and that is not in ``tree``.

    Raises
    ------
    NotReplayableError
        When a loop's body cannot be called again; the message names line and reason.

    Examples
    --------
    >>> import ast
    >>> from ftlab.session.debugging.step_source import rewrite
    >>> cell = "for x in data:\n    loss = net(x)\n    loss.backward()"
    >>> found = rewrite(ast.parse(cell))
    >>> found.steps
    1
    >>> print(ast.unparse(found.tree).splitlines()[3].strip())
    global loss
    """
    own = {
        each.name
        for each in nested_functions(tree)
        if any(map(_is_backward, ast.walk(each))) and not _loops(each, _is_backward)
    }

    def trains_here(node: ast.AST) -> bool:
        if _is_backward(node) or not isinstance(node, ast.Call):
            return _is_backward(node)
        # by name, or handed to an optimizer as its closure
        named = [n.id for n in (node.func, *node.args) if isinstance(n, ast.Name)]
        called = named[: isinstance(node.func, ast.Name)]
        return any(name in own for name in named) or any(map(trains, called))

    loops = _loops(tree, trains_here)
    for loop in loops:
        refuse(loop)
    for loop in loops:
        _make_step(loop)
    ast.fix_missing_locations(tree)
    within = {loop.outermost.name for loop in loops if loop.outermost is not None}
    return Rewritten(tree, len(loops), tuple(sorted(within)))


def _is_backward(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    on_super = isinstance(node.func.value, ast.Call) and (
        ast.unparse(node.func.value) == "super()"
    )
    return node.func.attr == "backward" and not on_super


def _loops(top: ast.AST, trains: Callable[[ast.AST], bool]) -> list[Loop]:
    """Find the innermost loops that train, in functions too."""
    found: list[Loop] = []

    def visit(node: ast.AST, functions: tuple[ast.FunctionDef, ...]) -> bool:
        """Return whether ``node`` trains outside of the loops within it."""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            functions = (*functions, cast("ast.FunctionDef", node))
        open_here = trains(node)
        for child in ast.iter_child_nodes(node):
            open_here |= visit(child, functions)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return False
        if open_here and isinstance(node, ast.For | ast.AsyncFor | ast.While):
            found.append(Loop(node, functions))
            return False
        return open_here

    visit(top, ())
    return found


def _make_step(loop: Loop) -> None:
    node, body = loop.node, loop.node.body
    names = assigned(body)
    declared = sorted(names & global_names(loop)) if loop.functions else sorted(names)
    closed = sorted(names - set(declared)) if loop.functions else []
    kept = ", ".join(map(repr, sorted(changed(body))))
    given = ", ".join(f"{name!r}: {name}" for name in _targets(node))
    lines = [f"if False: {' = '.join(closed)} = None"] if closed else []
    lines += [
        "def __ftlab_step__():",
        *([f"    global {', '.join(declared)}"] if declared else []),
        *([f"    nonlocal {', '.join(closed)}"] if closed else []),
        "    for __ftlab_turn__ in (None,): pass",
        "    else: return None",
        "    return ()",
        f"__ftlab_end__ = {RUNNER}.step("
        f"__ftlab_step__, ({kept}{',' if kept else ''}), {{{given}}})",
        "if __ftlab_end__ is not None:",
        *(["    if __ftlab_end__: return __ftlab_end__[0]"] * bool(loop.functions)),
        "    break",
    ]
    made = ast.parse("\n".join(lines)).body
    head = ast.copy_location(ast.Pass(), node)
    head.end_lineno, head.end_col_offset = node.lineno, node.col_offset
    for part in made:
        for each in ast.walk(part):
            if isinstance(each, ast.stmt | ast.expr):
                ast.copy_location(each, head)
    step = next(part for part in made if isinstance(part, ast.FunctionDef))
    if not loop.functions:
        step.lineno = 1  # where tracebacks look for the code of a <module>
    turn = next(part for part in step.body if isinstance(part, ast.For))
    turn.body = [cast("ast.stmt", _Body().visit(part)) for part in body]
    node.body = made


def _targets(node: ast.AST) -> list[str]:
    if not isinstance(node, ast.For):
        return []
    named = (each for each in ast.walk(node.target) if isinstance(each, ast.Name))
    return [each.id for each in named if isinstance(each.ctx, ast.Store)]


class _Body(ast.NodeTransformer):
    """Changes what means something else in a function that stands for a loop's body."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        value = node.value or ast.copy_location(ast.Constant(None), node)
        node.value = ast.copy_location(ast.Tuple([value], ast.Load()), node)
        return node

    def visit_Global(self, node: ast.Global) -> ast.AST:
        return ast.copy_location(ast.Pass(), node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        return ast.copy_location(ast.Pass(), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        # An annotated name cannot be global.
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign([node.target], node.value), node)
