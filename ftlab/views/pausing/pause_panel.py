"""The debugger's panel: where training stopped, what was found, and buttons.

It is an anywidget with keys, or core ipywidgets (text and buttons) where options say
so, for front ends that cannot load anything else. A click sends a command without
waiting; the controller calls `PausePanel.refresh` through its subscription when its
state has changed.
"""

import threading
import warnings
from collections.abc import Iterable
from typing import Any

from ftlab.records.errors import FtlabError, FtlabWarning
from ftlab.views.pausing.panel_buttons import COMMANDS
from ftlab.views.pausing.pause_html import body_html, head_html
from ftlab.views.pausing.pause_report import Controller
from ftlab.views.view import widget_mode, with_widget


class PausePanel:
    """Where a run has paused, with buttons to step, resume and abort.

    Parameters
    ----------
    controller
        The debugger.
    commands
        The buttons to show, from `COMMANDS`.
    """

    def __init__(
        self, controller: Controller, commands: Iterable[str] = tuple(COMMANDS)
    ) -> None:
        self._controller = controller
        self._commands = tuple(commands)
        self._widget: Any = None
        self._buttons: dict[str, Any] = {}
        self._looks: dict[str, dict[str, Any]] = {}
        self._error = ""
        # Else a thread that has read an older state could write it last.
        self._lock = threading.RLock()
        self._subscription = controller.subscribe(self.refresh)

    def widget(self) -> Any:
        """Return the panel's one widget."""
        with self._lock:
            if self._widget is None:
                live = widget_mode() == "anywidget"
                self._widget = self._make_live() if live else self._make_core()
                self._widget.add_class("ftlab-panel")
                self.refresh()
            return self._widget

    def refresh(self, *_: Any) -> None:
        """Show the controller's state; never raises into the training thread."""
        with self._lock:
            if self._widget is None:
                return
            try:
                self._show()
            except Exception as error:  # noqa: BLE001  a view must not stop training
                message = f"The pause panel could not be updated ({error!r})."
                warnings.warn(message, FtlabWarning, stacklevel=2)

    def allows(self, command: str) -> bool:
        """Whether ``command`` has a meaning at this moment."""
        if self._controller.state != "paused":
            return False
        report = self._controller.where
        one = COMMANDS[command]
        return one.applies(report) and (report.replayable or not one.moves)

    def html(self) -> str:
        """Return the panel's text as HTML, all of it escaped."""
        return head_html(self._controller, self._error) + body_html(self._controller)

    def close(self) -> None:
        """Listen no longer; the panel keeps its last text."""
        self._subscription.remove()

    def _show(self) -> None:
        head = head_html(self._controller, self._error)
        body = body_html(self._controller)
        if not self._buttons:
            self._widget.show(head, body, self._front_end_buttons())
            return
        above, _, below = self._widget.children
        above.value, below.value = head, body
        for now in self._front_end_buttons():
            button = self._buttons[now["command"]]
            button.disabled, button.description = not now["on"], now["label"]
            button.button_style = now["kind"].replace("plain", "")
            button.layout.display = "none" if now["hidden"] else None

    def _front_end_buttons(self) -> list[dict[str, Any]]:
        return [self._now(name) for name in self._commands]

    def _now(self, name: str) -> dict[str, Any]:
        """Return a button as it is at this moment.

        While training runs it looks as before: buttons that jump are missed.
        """
        one, state = COMMANDS[name], self._controller.state
        if state != "running":
            report = self._controller.where
            applies = state == "paused" and one.applies(report)
            self._looks[name] = {
                "label": (one.label(report) if applies else "") or name,
                "kind": one.kind(report) or "plain",
                "hidden": one.optional and not applies,
            }
        fixed = {"command": name, "tip": one.tip, "key": one.key, "shown": one.shown}
        first = {"label": name, "kind": "plain", "hidden": one.optional}
        return {**fixed, **self._looks.get(name, first), "on": self.allows(name)}

    def _make_live(self) -> Any:
        from ftlab.views.pausing.panel_widget import PanelWidget

        return PanelWidget(self._send, self._front_end_buttons())

    def _make_core(self) -> Any:
        import ipywidgets

        buttons = [self._core_button(name) for name in self._commands]
        row = ipywidgets.HBox(buttons, layout=ipywidgets.Layout(flex_flow="wrap"))
        return ipywidgets.VBox([ipywidgets.HTML(), row, ipywidgets.HTML()])

    def _core_button(self, name: str) -> Any:
        import ipywidgets

        button = ipywidgets.Button(
            description=name,
            tooltip=COMMANDS[name].tip,
            layout=ipywidgets.Layout(width="auto"),
        )
        button.add_class(f"ftlab-{name.replace(' ', '-')}")
        button.on_click(lambda _: self._send(name))
        self._buttons[name] = button
        return button

    def _send(self, command: str) -> None:
        self._error = ""
        ask = COMMANDS[command].ask
        try:
            self._controller.send(command if ask is None else ask(self._controller))
        except FtlabError as error:
            self._error = str(error)
        self.refresh()

    def __repr__(self) -> str:
        return "ftlab debugger panel"

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None, **_: Any
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        if widget_mode() == "static":
            return {"text/plain": repr(self), "text/html": self.html()}, {}
        return with_widget({"text/plain": repr(self)}, self.widget())
