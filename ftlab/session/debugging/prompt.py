"""The debugger's commands in a terminal, where a script has paused."""

import cmd
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar

from ftlab.records.errors import BadValueError, FtlabError
from ftlab.replay.control import Command
from ftlab.replay.stops.report import PauseReport
from ftlab.replay.waiting import no_way_back
from ftlab.session.debugging.blame import finish
from ftlab.session.debugging.expressions import Expressions

if TYPE_CHECKING:
    from ftlab.session.debugging.debugger import Debugger

T = TypeVar("T")

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

    def __init__(self, debugger: "Debugger", stream: TextIO) -> None:
        super().__init__(stdout=stream)
        self._debugger = debugger
        self._expressions = Expressions(debugger)
        self._command = Command("abort")
        self._visit: Command | None = None

    def ask(self, report: PauseReport) -> Command:
        """Show a stop, and return the command that ends it."""
        visit, self._visit = self._visit, None
        if visit is None:
            self._say(report)
        else:
            self._try(lambda: self._say(finish(visit)))
        self.cmdloop()
        return self._command

    def emptyline(self) -> bool:
        """Do nothing: repeating a step by mistake would be costly."""
        return False

    def default(self, line: str) -> None:
        """Say which commands there are."""
        self._say(f"{line!r} is no command; there are {', '.join(self._commands())}.")

    def do_help(self, arg: str) -> None:
        """List the commands, or say more of one: help [COMMAND]."""
        if arg:
            super().do_help(arg)
            return
        width = max(map(len, self._commands()))
        for name in self._commands():
            words = getattr(self, f"do_{name}").__doc__.partition("\n")[0]
            self._say(f"  {name:<{width}}  {words}")

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

    def do_resume(self, line: str) -> bool:
        """Let training go on, as it is or as it was tried last: resume [patched]."""
        if not line.strip():
            return self._end(Command("resume"))
        if line.strip() != "patched":
            self._say(f"resume {line}: say `resume` or `resume patched`.")
            return False
        return self._give(lambda: self._debugger.commands.resume(with_patch=True))

    def do_patch(self, line: str) -> bool:
        """Try the step with this op's output changed: patch x.clamp(max=1e4)."""
        function = self._expressions.function
        return self._give(lambda: self._debugger.commands.patch(function(line)))

    def do_float32(self, _: str) -> bool:
        """Try the step with this op computed in float32."""
        return self._give(lambda: self._debugger.commands.in_float32())

    def do_replace(self, line: str) -> bool:
        """Try another computation in place of an op: replace aten.log (x + 1e-9).log().

        Its arguments are x, y, z, and keywords under their own names.
        """
        op, _, text = line.strip().partition(" ")
        function = self._expressions.function
        return self._give(lambda: self._debugger.commands.replace(op, function(text)))

    def do_skip(self, line: str) -> bool:
        """Try the step without some samples of the batch: skip 0 3."""
        samples = line.replace(",", " ").split()
        if not samples or not all(each.isdecimal() for each in samples):
            self._say(
                f"skip {line}: pass the samples' numbers, `skip 0 3` for example."
            )
            return False
        numbers = map(int, samples)
        return self._give(lambda: self._debugger.commands.skip_sample(*numbers))

    def do_lr(self, line: str) -> bool:
        """Try the optimizer's step with another learning rate: lr 1e-5, or lr /10."""
        return self._give(lambda: self._debugger.commands.with_lr(line))

    def do_scale(self, line: str) -> bool:
        """Try the step with another loss scale of its GradScaler: scale 256."""
        value = self._expressions.value
        return self._give(lambda: self._debugger.commands.with_loss_scale(value(line)))

    def do_abort(self, _: str) -> bool:
        """End the script; the step leaves no trace in the weights."""
        return self._end(Command("abort"))

    def do_quit(self, line: str) -> bool:
        """Do the same as abort."""
        return self.do_abort(line)

    def do_EOF(self, line: str) -> bool:  # noqa: N802  as cmd calls it
        """Do the same as abort: nobody is there any more."""
        return self.do_abort(line)

    def do_blame(self, _: str) -> bool:
        """Show the loss of each sample and token, and each sample's gradient norm."""

        def make() -> Command:
            self._visit = self._debugger.commands.blame()
            return self._visit

        return self._give(make)

    def do_snapshot(self, line: str) -> None:
        """Write all that makes this step again elsewhere: snapshot [FOLDER]."""
        self._try(lambda: self._say(self._debugger.snapshot(line.strip() or None)))

    def do_break(self, line: str) -> None:
        """Stop at a module too, or where one looks wrong: break mlp [when NAME].

        NAME is that of a condition: near overflow, all zero, subnormal, deviates,
        saturated. `break when deviates` looks at the loss and the gradients.
        """
        module, _, when = f" {line} ".partition(" when ")
        self._try(
            lambda: self._say(
                self._debugger.break_at(module.strip(), when=when.strip() or None)
            )
        )

    def do_breakpoints(self, _: str) -> None:
        """List the breakpoints."""
        self._say(self._debugger.breakpoints)

    def do_where(self, _: str) -> None:
        """Show the stop again."""
        self._say(self._debugger.where)

    def do_tensor(self, _: str) -> None:
        """Show the operation's output."""
        self._say(self._debugger.tensor)

    def do_inputs(self, _: str) -> None:
        """Show the operation's input tensors."""
        self._say(self._debugger.inputs)

    def do_batch(self, _: str) -> None:
        """Show what the step was called with."""
        self._say(self._debugger.batch)

    def do_locals(self, _: str) -> None:
        """Show the variables of your code where it waits."""
        self._say(self._debugger.locals)

    def do_parameters(self, _: str) -> None:
        """Show the parameters of the module, or all that are trained."""
        self._say(self._debugger.parameters)

    def do_stack(self, _: str) -> None:
        """Show the calls in which the step waits."""
        self._say(self._debugger.stack)

    def do_p(self, line: str) -> None:
        """Evaluate an expression of what can be seen: p scores.max().

        What it may name: the variables of your code where it waits (see locals), else
        tensor, inputs, batch and parameters of the stop, else that code's globals.
        """
        self._try(lambda: self._say(repr(self._expressions.value(line))))

    def _commands(self) -> list[str]:
        names = (n[3:] for n in self.get_names() if n.startswith("do_"))
        return [name for name in names if name != "EOF"]

    def _give(self, make: Callable[[], Command]) -> bool:
        """Answer with a command, or say why there is none."""
        return self._try(lambda: self._end(make())) or False

    def _try(self, act: Callable[[], T]) -> T | None:
        """Do something, or say why it cannot be done."""
        try:
            return act()
        except FtlabError as error:
            self._say(error)
        except Exception as error:  # noqa: BLE001  an expression may raise anything
            self._say(f"{type(error).__name__}: {error}")
        return None

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
        text = str(shown) if isinstance(shown, str | Path | Exception) else repr(shown)
        self.stdout.write(text + "\n")


def decide(report: PauseReport, verb: str) -> Command:
    """Show a stop on standard error and answer it with ``verb``, where nobody can."""
    sys.stderr.write(f"ftlab: {report!r}\n")
    return Command.parse(verb)
