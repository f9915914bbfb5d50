"""The panel of a replay as an anywidget: text, strip, slider, buttons and keys."""

from collections.abc import Callable, Sequence
from typing import Any

import anywidget
import traitlets

from ftlab.views.front_end import front_end


class ReplayWidget(anywidget.AnyWidget):
    """Shows HTML with a slider and buttons in between.

    Parameters
    ----------
    press
        Called with the command of the button that was pressed.
    jump
        Called with the index of the operation to go to.
    buttons
        Mappings with ``command``, ``tip``, ``key`` and ``shown``.
    count
        How many operations there are.
    """

    _esm = front_end("pausing/panel_parts.js", "replay/replay.js")
    head = traitlets.Unicode().tag(sync=True)
    strip = traitlets.Unicode().tag(sync=True)
    body = traitlets.Unicode().tag(sync=True)
    buttons: traitlets.List[Any] = traitlets.List().tag(sync=True)
    count = traitlets.Int().tag(sync=True)
    at = traitlets.Int().tag(sync=True)
    stamp = traitlets.Int().tag(sync=True)

    def __init__(
        self,
        press: Callable[[str], object],
        jump: Callable[[int], object],
        buttons: Sequence[dict[str, Any]],
        count: int,
    ) -> None:
        self._press = press
        self._jump = jump
        super().__init__(buttons=list(buttons), count=count)
        self.on_msg(self._hear)

    def show(self, head: str, strip: str, body: str, at: int) -> None:
        """Show another moment; pages paint once, when all of it has come."""
        with self.hold_sync():
            # The page fades the bars by itself: the strip is sent once.
            self.strip = self.strip or strip
            self.head, self.body, self.at = head, body, at
            self.stamp += 1

    def _hear(self, _: Any, content: Any, __: Any) -> None:
        if not isinstance(content, dict):
            return
        at, asked = content.get("at"), content.get("command")
        if isinstance(at, int) and 0 <= at < self.count:
            self._jump(at)
        for command in [one["command"] for one in self.buttons]:
            if command == asked:
                self._press(command)
