"""A real kernel, and what its messages say."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from jupyter_client.manager import KernelManager

TIMEOUT = 120
COLOURS = re.compile(r"\x1b\[[\d;]*m")


@dataclass
class Outcome:
    """What one execution sent back.

    Attributes
    ----------
    streams
        Text written to stdout and stderr while this cell was the parent.
    displays
        Mime bundles, in order; an update is marked by ``update`` in `kinds`.
    """

    status: str = ""
    error: str = ""
    traceback: str = ""
    streams: str = ""
    displays: list = field(default_factory=list)
    kinds: list = field(default_factory=list)


class Kernel:
    """A Python kernel in a folder of its own; use it as a context manager."""

    def __init__(self, folder: Path) -> None:
        self._manager = KernelManager(kernel_name="python3")
        self._folder = folder

    def __enter__(self) -> "Kernel":
        environment = dict(os.environ, IPYTHONDIR=str(self._folder / "ipython"))
        root = str(Path(__file__).parents[2])
        environment["PYTHONPATH"] = root
        self._manager.start_kernel(cwd=str(self._folder), env=environment)
        self.client = self._manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=TIMEOUT)
        return self

    def __exit__(self, *_: object) -> None:
        self.client.stop_channels()
        self._manager.shutdown_kernel(now=True)
        self._manager.context.destroy()

    def run(self, code: str) -> Outcome:
        """Execute a cell and wait for its end."""
        outcome = Outcome()
        reply = self.client.execute_interactive(
            code, timeout=TIMEOUT, output_hook=lambda message: note(outcome, message)
        )
        outcome.status = reply["content"]["status"]
        return outcome

    def complete(self, code: str) -> list[str]:
        """Return what Tab offers at the end of ``code``."""
        message = self.client.complete(code, len(code))
        while True:
            reply = self.client.get_shell_msg(timeout=TIMEOUT)
            if reply["parent_header"].get("msg_id") == message:
                return reply["content"]["matches"]


def note(outcome: Outcome, message: dict) -> None:
    """Add a message to ``outcome``."""
    kind, content = message["header"]["msg_type"], message["content"]
    if kind == "stream":
        outcome.streams += content["text"]
    elif kind == "error":
        outcome.error = f"{content['ename']}: {content['evalue']}"
        outcome.traceback = COLOURS.sub("", "\n".join(content["traceback"]))
    elif kind in ("display_data", "execute_result", "update_display_data"):
        outcome.displays.append(content["data"])
        outcome.kinds.append(kind)
