"""The body of a cell magic runs as if the magic's line were not there."""

import linecache

import pytest
from IPython.core.error import UsageError

from ftlab.notebook.cells import run_cell_body

pytestmark = pytest.mark.ipython


def run(shell, body):
    run_cell_body(shell, "%%ftlab watch", body)


def test_names_stay_in_the_namespace(shell):
    run(shell, "a = 1\nb = a + 1\n")
    assert shell.user_ns["b"] == 2


def test_the_last_expression_is_shown(shell, capsys):
    run(shell, "a = 20\na * 2 + 2\n")
    assert "42" in capsys.readouterr().out


def test_an_expression_in_the_middle_is_not_shown(shell, capsys):
    run(shell, "'hidden'\na = 1\n")
    assert "hidden" not in capsys.readouterr().out


def test_interactivity_of_the_shell_is_kept(shell, capsys):
    shell.ast_node_interactivity = "all"
    run(shell, "'one'\n'two'\n")
    shown = capsys.readouterr().out
    shell.ast_node_interactivity = "last_expr_or_assign"
    run(shell, "value = 'three'\n")
    shown += capsys.readouterr().out
    shell.ast_node_interactivity = "last_expr"
    assert all(word in shown for word in ("'one'", "'two'", "'three'"))


def test_errors_leave_untouched_with_the_lines_of_the_cell(shell):
    class MineError(Exception):
        pass

    shell.user_ns["MineError"] = MineError
    error = MineError("unchanged")
    shell.user_ns["error"] = error
    with pytest.raises(MineError) as caught:
        run(shell, "\nx = 1\nraise error\n")
    assert caught.value is error
    last = caught.traceback[-1]
    assert last.lineno + 1 == 4
    assert linecache.getline(str(last.path), 4).strip() == "raise error"
    assert linecache.getline(str(last.path), 1).strip() == "%%ftlab watch"


def test_the_traceback_hides_the_magic(shell, capsys):
    shell.run_line_magic("load_ext", "ftlab")
    shell.run_cell("%%ftlab watch\ndef f():\n    return 1 / 0\n\nf()\n")
    shown = capsys.readouterr().out
    assert "ZeroDivisionError" in shown
    assert "line 5" in shown
    assert "notebook/cells.py" not in shown
    assert "notebook/magics.py" not in shown


def test_magics_and_shell_lines_work_in_the_body(shell):
    run(shell, "%config InteractiveShell.colors\nwords = !echo hello\n")
    assert list(shell.user_ns["words"]) == ["hello"]


def test_ast_transformers_of_the_user_are_applied(shell):
    import ast

    class Double(ast.NodeTransformer):
        def visit_Constant(self, node):
            return ast.copy_location(ast.Constant(node.value * 2), node)

    double = Double()
    shell.ast_transformers.append(double)
    run(shell, "a = 21\n")
    shell.ast_transformers.remove(double)
    assert shell.user_ns["a"] == 42


def test_a_syntax_error_names_the_line_of_the_cell(shell):
    with pytest.raises(SyntaxError) as caught:
        run(shell, "a = 1\nb = = 2\n")
    assert caught.value.lineno == 3


def test_an_empty_body_does_nothing(shell):
    before = dict(shell.user_ns)
    assert run(shell, "\n\n") is None
    assert shell.user_ns == before


def test_await_at_the_top_level_is_refused(shell):
    with pytest.raises(UsageError, match="awaits at its top level"):
        run(shell, "import asyncio\nawait asyncio.sleep(0)\n")
