"""``%ftlab SUBCOMMAND``, ``%%ftlab watch`` and ``%%ftlab debug``: parse, call, show."""

import sys
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from ftlab.notebook.cells import run_cell_body
from ftlab.notebook.command import Call
from ftlab.notebook.commands import COMMANDS, WATCH_OPTIONS, find_command
from ftlab.notebook.debugging import debug_cell
from ftlab.notebook.terminal import is_terminal, show_summary
from ftlab.records.errors import FtlabError


@magics_class
class FtlabMagics(Magics):
    """The magics; registered and removed by `ftlab.notebook.extension`."""

    @magic_arguments("ftlab")
    @argument(
        "command",
        nargs="?",
        default="help",
        help="one of " + ", ".join(command.name for command in COMMANDS),
    )
    @argument("rest", nargs="...", help="what the subcommand takes: %%ftlab help NAME")
    @line_magic("ftlab")
    def line(self, line: str) -> Any:
        """Watch training, read findings and rules, open run logs."""
        name, _, rest = line.strip().partition(" ")
        command = find_command(name or "help")
        arguments = command.parse(rest)
        try:
            return command.run(Call(self.shell, arguments))
        except FtlabError as error:
            raise UsageError(str(error)) from error

    @magic_arguments("ftlab")
    @argument(
        "command",
        choices=["watch", "debug"],
        help="watch: see the training in this cell; debug: stop it where it breaks",
    )
    @argument("-o", "--name", help="variable that holds the watch (watch, or dbg)")
    @argument(*WATCH_OPTIONS[1][0], **WATCH_OPTIONS[1][1])
    @argument(*WATCH_OPTIONS[2][0], **WATCH_OPTIONS[2][1])
    @cell_magic("ftlab")
    def cell(self, line: str, cell: str) -> None:
        """Run an unchanged cell, and watch or debug the training in it.

        The trainer, or the model and optimizer of a hand-written loop, are found while
        the cell runs. The watch is bound to ``watch`` and detached when the cell ends;
        a terminal, which has no dashboard, then prints what was found.

        With ``debug`` the training stops where its numbers break. The debugger is bound
        to ``dbg``; its buttons, or ``dbg.resume()`` in a cell, run the rest of the
        cell.
        """
        __tracebackhide__ = True
        arguments = parse_argstring(self.cell, line)
        if arguments.command == "debug":
            self._debug(line, cell, arguments)
        else:
            self._watch(line, cell, arguments)

    def _debug(self, line: str, cell: str, arguments: Any) -> None:
        __tracebackhide__ = True
        if arguments.run_dir or arguments.activations:
            msg = (
                "%%ftlab debug takes no --run-dir and no --activations: it writes no "
                "log. Use -o NAME alone, or %%ftlab watch."
            )
            raise UsageError(msg)
        debug_cell(self.shell, f"%%ftlab {line}", cell, arguments.name or "dbg")

    def _watch(self, line: str, cell: str, arguments: Any) -> None:
        __tracebackhide__ = True
        from ftlab.session.autowatch import Autowatch
        from ftlab.session.host import host
        from ftlab.session.summary import NOTHING_SEEN

        def found(watch: Any) -> None:
            self.shell.user_ns[arguments.name or "watch"] = watch
            host().display(watch.dashboard)

        auto = Autowatch(
            found,
            namespaces=(self.shell.user_ns,),
            run_dir=arguments.run_dir,
            activations=arguments.activations,
        )
        try:
            with auto:
                run_cell_body(self.shell, f"%%ftlab {line}", cell)
        finally:
            if auto.watches and is_terminal(self.shell):
                show_summary(auto.watches)
        if not auto.watches:
            sys.stderr.write(NOTHING_SEEN + "\n")
