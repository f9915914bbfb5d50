"""Run the body of a cell magic as if the magic's line were not there.

``shell.run_cell`` would print a traceback and go on as if nothing had happened, and
notebooks that are executed without a reader would count the cell as passed. Here errors
leave the magic untouched, and line numbers and file name are those of the cell.
"""

import ast
import inspect
import types
from collections.abc import Callable
from typing import Any

from IPython.core.error import UsageError


def run_cell_body(shell: Any, first_line: str, body: str) -> None:
    """Execute ``body`` in the user's namespace and show its last expression.

    Parameters
    ----------
    shell
        The running shell.
    first_line
        The magic's own line; with it, tracebacks show the whole cell.
    body
        The code below.
    """
    __tracebackhide__ = True
    instead = "`with ftlab.watch(model, optimizer):` in the cell"
    for code in compile_cell(shell, first_line, body, instead):
        exec(code, shell.user_global_ns, shell.user_ns)


def compile_cell(
    shell: Any,
    first_line: str,
    body: str,
    instead: str,
    rewrite: Callable[[ast.Module], ast.Module] = lambda tree: tree,
) -> list[types.CodeType]:
    """Return the code of each statement of a cell.

    Parameters
    ----------
    instead
        What to use for a cell that awaits.
    rewrite
        Called with the cell's syntax tree.
    """
    codes = _compiled(shell, first_line, body, rewrite)
    if any(code.co_flags & inspect.CO_COROUTINE for code in codes):
        msg = (
            f"{first_line} cannot run a cell that awaits at its top level. "
            f"Use {instead} instead."
        )
        raise UsageError(msg)
    return codes


def _compiled(
    shell: Any, first_line: str, body: str, rewrite: Callable[[ast.Module], ast.Module]
) -> list[types.CodeType]:
    code = body.lstrip("\n")
    above = "\n" * (1 + len(body) - len(code))
    python = shell.transform_cell(code)
    name = shell.compile.cache(
        first_line + above + python,
        shell.execution_count,
        raw_code=f"{first_line}\n{body}",
    )
    with shell.builtin_trap, shell.compile.extra_flags(ast.PyCF_ALLOW_TOP_LEVEL_AWAIT):
        tree = shell.transform_ast(shell.compile.ast_parse(above + python, name))
        tree = rewrite(tree)
        return [
            shell.compile(_wrapped(node, mode), name, mode)
            for node, mode in _modes(tree.body, shell.ast_node_interactivity)
        ]


def _modes(nodes: list[ast.stmt], interactivity: str) -> list[tuple[ast.stmt, str]]:
    """Pair each statement with the mode that makes the shell show what it should."""
    if not nodes:
        return []
    last = nodes[-1]
    if interactivity == "last_expr_or_assign" and (name := _assigned(last)):
        shown = ast.copy_location(ast.Expr(ast.Name(name, ast.Load())), last)
        nodes = [*nodes, ast.fix_missing_locations(shown)]
        last = shown
    single = {
        "all": len(nodes),
        "none": 0,
        "last": 1,
    }.get(interactivity, int(isinstance(last, ast.Expr)))
    border = len(nodes) - single
    return [
        (node, "exec" if index < border else "single")
        for index, node in enumerate(nodes)
    ]


def _assigned(node: ast.stmt) -> str | None:
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        target = node.target
    else:
        return None
    return target.id if isinstance(target, ast.Name) else None


def _wrapped(node: ast.stmt, mode: str) -> ast.AST:
    return ast.Interactive([node]) if mode == "single" else ast.Module([node], [])
