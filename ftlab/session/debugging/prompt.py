"""The debugger's commands in a terminal, where a script has paused."""

import cmd
import sys
from typing import TYPE_CHECKING, TextIO

from ftlab.records.errors import BadValueError
from ftlab.replay.control import Command
from ftlab.replay.engine import no_way_back
from ftlab.replay.stops.report import PauseReport

if TYPE_CHECKING:
    from ftlab.session.debugging.debugger import Debugger

ON_ANOMALY = ("abort", "resume")
"""What can be done at a stop without asking."""


class Prompt(cmd.Cmd):
    """Asks at each stop what to do.

    Parameters
    ----------
    debugger
        The run that is paused, for what can be seen of it.
    stream
        Where reports and values are written.
    """

    prompt = "(ftlab) "
    doc_header = "Commands (help NAME says more):"

    def __init__(self, debugger: "Debugger", stream: TextIO) -> None:
        super().__init__(stdout=stream)
        self._debugger = debugger
        self._command = Command("abort")

    def ask(self, report: PauseReport) -> Command:
        """Show a stop, and return the command that ends it."""
        self._say(report)
        self.cmdloop()
        return self._command

    def emptyline(self) -> bool:
        """Do nothing: repeating a step by mistake would be costly."""
        return False

    def default(self, line: str) -> None:
        """Say which commands there are."""
        names = ", ".join(
            n[3:] for n in self.get_names() if n[:3] == "do_" and n != "do_EOF"
        )
        self._say(f"{line!r} is no command; there are {names}.")

    def do_step(self, line: str) -> bool:
        """Go on and stop again: step [op|module|PATTERN] [COUNT]."""
        return self._move("step", line)

    def do_back(self, line: str) -> bool:
        """Run the step again up to an earlier op: back [op|module|PATTERN] [COUNT]."""
        report = self._debugger.where
        if not report.replayable:
            self._say(no_way_back(report))
            return False
        return self._move("back", line)

    def do_resume(self, _: str) -> bool:
        """Let training go on with the step as it is."""
        return self._end(Command("resume"))

    def do_abort(self, _: str) -> bool:
        """End the script; the step leaves no trace in the weights."""
        return self._end(Command("abort"))

    def do_quit(self, line: str) -> bool:
        """Do the same as abort."""
        return self.do_abort(line)

    def do_EOF(self, line: str) -> bool:  # noqa: N802  as cmd calls it
        """Do the same as abort: nobody is there any more."""
        return self.do_abort(line)

    def do_where(self, _: str) -> None:
        """Show the stop again."""
        self._say(self._debugger.where)

    def do_tensor(self, _: str) -> None:
        """Show the operation's output."""
        self._say(self._debugger.tensor)

    def do_inputs(self, _: str) -> None:
        """Show the operation's input tensors."""
        for each in self._debugger.inputs:
            self._say(each)

    def do_batch(self, _: str) -> None:
        """Show what the step was called with."""
        self._say(self._debugger.batch)

    def _move(self, verb: str, line: str) -> bool:
        *words, last = line.split() or [""]
        count = int(last) if last.isdecimal() else 1
        unit = " ".join(words if last.isdecimal() else [*words, last])
        try:
            moved = Command.move(
                "back" if verb == "back" else "step", unit or "op", count
            )
        except BadValueError as error:
            self._say(error)
            return False
        return self._end(moved)

    def _end(self, command: Command) -> bool:
        self._command = command
        return True

    def _say(self, shown: object) -> None:
        text = str(shown) if isinstance(shown, str | Exception) else repr(shown)
        self.stdout.write(text + "\n")


def decide(report: PauseReport, verb: str) -> Command:
    """Show a stop on standard error and answer it with ``verb``, where nobody can."""
    sys.stderr.write(f"ftlab: {report!r}\n")
    return Command.parse(verb)
