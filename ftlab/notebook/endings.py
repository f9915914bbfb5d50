"""What happens to a watch around a hand-written loop when a cell ends.

What is on the screen then shows the loop's last step. When the loop's cell has failed,
the watch ends: otherwise the hooks would stay on a model whose loop is gone. A cell
that fails without having trained (a typo in between) ends nothing.
"""

from typing import Any

from ftlab.notebook.namespace import watches
from ftlab.records.handle import CallbackHandle, Handle


def detach_after_error(shell: Any) -> Handle:
    """Look after each cell of ``shell`` until the handle is removed."""
    events = _CellEvents(shell)
    shell.events.register("pre_run_cell", events.begin)
    shell.events.register("post_run_cell", events.end)

    def undo() -> None:
        shell.events.unregister("pre_run_cell", events.begin)
        shell.events.unregister("post_run_cell", events.end)

    return CallbackHandle(undo)


class _CellEvents:
    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._steps: dict[int, int] = {}

    def begin(self, info: Any) -> None:
        """Note how far each watch is that is under way."""
        self._steps = {
            id(watch): watch.run.last_step
            for watch in watches(self._shell.user_ns)
            if watch.state == "watching"
        }

    def end(self, result: Any) -> None:
        """Bring watches up to date; end those whose training an error has ended."""
        error = result.error_in_exec
        for watch in watches(self._shell.user_ns):
            if watch.state != "watching":
                continue
            watch.sync()
            if error is None:
                continue
            before = self._steps.get(id(watch), -1)
            if watch.run.last_step > before:
                watch.__exit__(type(error), error, error.__traceback__)
