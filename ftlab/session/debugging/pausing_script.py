"""``ftlab run --pause``: a script runs unedited and stops where its numbers break.

It runs on the thread that it would have run on. The engine asks at each stop what to
do, there and then: a prompt answers, or without a terminal a rule.
"""

import ast
import os
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

from ftlab.records.errors import BadValueError
from ftlab.replay.control import Command
from ftlab.replay.stops.report import PauseReport
from ftlab.replay.worker import Worker
from ftlab.session.debugging.debug_code import NOTHING_DEBUGGED, DebuggedCode
from ftlab.session.debugging.prompt import ON_ANOMALY, Prompt, decide
from ftlab.session.host import host


class InPlaceWorker(Worker):
    """Runs the training on the thread that starts it, which nobody has to wait for."""

    def start(self, function: Callable[[], Any]) -> None:
        """Run ``function`` to its end; a policy answers at its stops."""
        self.result, self.error, self.stop = None, None, None
        self._interrupts, self._abort = 0, False
        self._thread = threading.current_thread()
        self._set_state("running")
        self._run(function)


class PausingScript:
    """A script whose training stops at anomalies.

    Parameters
    ----------
    on_anomaly
        ``"abort"`` or ``"resume"`` answers every stop; ``""`` asks in the terminal,
        and aborts where there is none.

    Raises
    ------
    BadValueError
        For another answer, and where several processes train.
    """

    def __init__(self, on_anomaly: str = "") -> None:
        if on_anomaly and on_anomaly not in ON_ANOMALY:
            allowed = " or ".join(ON_ANOMALY)
            msg = f"--on-anomaly {on_anomaly}: pass {allowed}."
            raise BadValueError(msg)
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            msg = (
                "--pause stops one process, and the others of this torchrun would wait "
                "for it until they time out. Omit --pause, or run one process."
            )
            raise BadValueError(msg)
        self._asks = not on_anomaly and sys.stdin is not None and sys.stdin.isatty()
        self._answer = on_anomaly or "abort"
        worker = InPlaceWorker(host)
        self._code = DebuggedCode(worker, self._at_stop, name="the script")
        self._prompt = Prompt(self._code.debugger, sys.stderr)

    @property
    def aborted(self) -> bool:
        """Whether the script was given up."""
        return self._code.debugger.state == "aborted"

    def compile(self, source: bytes | str, file: str) -> types.CodeType:
        """Compile a script with its training loops made re-callable."""
        tree = self._code.rewrite(ast.parse(source, file), {})
        return compile(tree, file, "exec", dont_inherit=True)

    def run(self, code: types.CodeType, main: types.ModuleType) -> None:
        """Execute ``code`` as ``main``; what it raises passes through."""
        self._code.prepare(lambda: exec(code, vars(main)), vars(main))
        if self._asks:
            self._code.debugger.run()  # Ctrl-C asks for a pause
        else:
            self._code.debugger.start()
            self._code.debugger.wait()

    def close(self) -> None:
        """Say how it ended, where there is something to say."""
        if self.aborted:
            sys.stderr.write("ftlab: the script was aborted at this stop.\n")
        elif not self._code.seen:
            sys.stderr.write(NOTHING_DEBUGGED + "\n")

    def _at_stop(self, report: PauseReport) -> Command:
        sys.stdout.flush()
        if self._asks:
            return self._prompt.ask(report)
        return decide(report, self._answer)
