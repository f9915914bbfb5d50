"""The debugger's panel as an anywidget: the text, buttons and keys."""

from collections.abc import Callable, Sequence
from typing import Any

import anywidget
import traitlets

from ftlab.views.front_end import front_end


class PanelWidget(anywidget.AnyWidget):
    """Shows HTML with buttons in between.

    Parameters
    ----------
    send
        Called with the command of the button that was pressed.
    buttons
        Mappings with ``command``, ``label``, ``tip``, ``kind``, ``key``, ``shown``,
        ``on`` and ``hidden``.
    """

    _esm = front_end("pausing/panel_parts.js", "pausing/panel.js")
    head = traitlets.Unicode().tag(sync=True)
    body = traitlets.Unicode().tag(sync=True)
    buttons: traitlets.List[Any] = traitlets.List().tag(sync=True)
    stamp = traitlets.Int().tag(sync=True)

    def __init__(
        self, send: Callable[[str], None], buttons: Sequence[dict[str, Any]]
    ) -> None:
        self._press = send
        super().__init__(buttons=list(buttons))
        self.on_msg(self._hear)

    def show(self, head: str, body: str, buttons: Sequence[dict[str, Any]]) -> None:
        """Show other text; pages paint once, when all of it has come."""
        with self.hold_sync():
            self.head, self.body, self.buttons = head, body, list(buttons)
            self.stamp += 1

    def _hear(self, _: Any, content: Any, __: Any) -> None:
        asked = content.get("command") if isinstance(content, dict) else None
        for command in [one["command"] for one in self.buttons]:
            if command == asked:
                self._press(command)
