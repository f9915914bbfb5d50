"""``%%ftlab debug``: a cell runs on the training thread and can be stopped."""

import sys
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from ftlab.notebook.cells import compile_cell
from ftlab.notebook.terminal import is_terminal
from ftlab.records.errors import NotPausedError, NotReplayableError

if TYPE_CHECKING:
    from ftlab.session.debugging.debugger import Debugger

_INSTEAD = "ftlab.debug(step, batches, model=model, optimizer=optimizer)"


def debug_cell(shell: Any, first_line: str, body: str, name: str) -> None:
    """Run a cell's code under a debugger until its first stop, or its end.

    Parameters
    ----------
    shell
        The running shell.
    first_line
        The magic's own line.
    body
        The code below.
    name
        The variable that the debugger is bound to.
    """
    __tracebackhide__ = True
    from ftlab.replay.worker import Worker
    from ftlab.session.debugging.debug_code import NOTHING_DEBUGGED, DebuggedCode
    from ftlab.session.host import host
    from ftlab.session.script import without_ours

    code = DebuggedCode(Worker(host), name=f"the cell of {name}")

    def run() -> None:
        shell.user_ns[name] = code.debugger
        # The cell may go on when no cell is running, at a click.
        with shell.builtin_trap, shell.display_trap:
            for each in codes:
                exec(each, shell.user_global_ns, shell.user_ns)

    try:
        codes = compile_cell(
            shell,
            first_line,
            body,
            _INSTEAD,
            lambda tree: code.rewrite(tree, shell.user_ns),
        )
        code.prepare(run, shell.user_ns)
        code.debugger.run()
    except (NotReplayableError, NotPausedError) as error:
        raise UsageError(str(error)) from error
    except BaseException as error:
        error.__traceback__ = without_ours(error.__traceback__)
        raise
    if code.seen:
        _show(shell, code.debugger)
    else:
        sys.stderr.write(NOTHING_DEBUGGED + "\n")


def _show(shell: Any, debugger: "Debugger") -> None:
    from ftlab.session.host import host

    if debugger.state == "paused" and not is_terminal(shell):
        host().display(debugger)
    else:
        sys.stdout.write(f"{debugger!r}\n")
