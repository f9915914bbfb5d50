"""The debugger's panel: where training stopped, what was found, and buttons.

It uses core ipywidgets only (text and buttons), so that it works where a front end
cannot load anything else. A click sends a command without waiting; the controller calls
`PausePanel.refresh` through its subscription when its state has changed.
"""

from __future__ import annotations

import html
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from ftlab.records.errors import FtlabError, FtlabWarning
from ftlab.views.findings_html import style_sheet
from ftlab.views.view import with_widget

if TYPE_CHECKING:
    from ftlab.records.handle import Handle


class Report(Protocol):
    """What a stop says about itself.

    Its text form has the headline first, and then lines ``"  word   remark"``.
    """

    @property
    def replayable(self) -> bool:
        """Whether the step can be executed again, forward and back."""

    def headline(self) -> str:
        """Say in one line what stopped the run."""


class Controller(Protocol):
    """The debugger, seen by its panel."""

    @property
    def state(self) -> str:
        """``"new"``, ``"running"``, ``"paused"``, ``"finished"``, ..."""

    @property
    def where(self) -> Report:
        """What the current stop says, or how the run stands."""

    def send(self, command: str) -> None:
        """Take a command and return at once."""

    def subscribe(self, listener: Callable[[], None]) -> Handle:
        """Call ``listener`` after each change of state, from any thread."""


COMMANDS = {
    "back": ("Run the step again and stop one operation earlier", ""),
    "step": ("Go on to the next operation and stop", ""),
    "resume": ("Let training go on", "success"),
    "abort": ("Stop training; what was logged stays", "danger"),
}
"""Buttons: what they do, and their colour."""
MOVES = ("back", "step")
"""Commands that need a step that can be executed again."""


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
        self._box: Any = None
        self._text: Any = None
        self._buttons: dict[str, Any] = {}
        self._error = ""
        self._subscription = controller.subscribe(self.refresh)

    def widget(self) -> Any:
        """Return the panel's one widget."""
        import ipywidgets

        if self._box is None:
            self._text = ipywidgets.HTML()
            buttons = [self._button(name) for name in self._commands]
            row = ipywidgets.HBox(buttons, layout=ipywidgets.Layout(flex_flow="wrap"))
            self._box = ipywidgets.VBox([self._text, row])
            self._box.add_class("ftlab-panel")
            self.refresh()
        return self._box

    def refresh(self, *_: Any) -> None:
        """Show the controller's state; never raises into the training thread."""
        if self._box is None:
            return
        try:
            value = self.html()
            if value != self._text.value:
                self._text.value = value
            for name, button in self._buttons.items():
                button.disabled = not self.allows(name)
        except Exception as error:  # noqa: BLE001  a broken view must not stop training
            message = f"The pause panel could not be updated ({error!r})."
            warnings.warn(message, FtlabWarning, stacklevel=2)

    def allows(self, command: str) -> bool:
        """Whether ``command`` has a meaning at this moment."""
        paused = self._controller.state == "paused"
        return paused and (command not in MOVES or self._controller.where.replayable)

    def html(self) -> str:
        """Return the panel's text as HTML, all of it escaped."""
        state = self._controller.state
        kind = "error" if state == "paused" else "open"
        title, rows = _text(self._controller)
        rows += [("refused", self._error)] if self._error else []
        shown = "".join(
            f"<dt>{html.escape(word)}</dt><dd>{html.escape(text)}</dd>"
            for word, text in rows
        )
        return (
            f'<style>{style_sheet()}</style><div class="ftlab-f">'
            f'<details open class="ftlab-{kind}"><summary><span class="ftlab-what">'
            f"{html.escape(title)}</span></summary><dl>{shown}</dl></details></div>"
        )

    def close(self) -> None:
        """Listen no longer; the panel keeps its last text."""
        self._subscription.remove()

    def _button(self, name: str) -> Any:
        import ipywidgets

        tip, colour = COMMANDS[name]
        button = ipywidgets.Button(
            description=name,
            tooltip=tip,
            button_style=colour,
            layout=ipywidgets.Layout(width="auto"),
        )
        button.add_class(f"ftlab-{name}")
        button.on_click(lambda _: self._send(name))
        self._buttons[name] = button
        return button

    def _send(self, command: str) -> None:
        self._error = ""
        try:
            self._controller.send(command)
        except FtlabError as error:
            self._error = str(error)
        self.refresh()

    def __repr__(self) -> str:
        return "ftlab debugger panel"

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None, **_: Any
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        return with_widget({"text/plain": repr(self)}, self.widget())


def _text(controller: Controller) -> tuple[str, list[tuple[str, str]]]:
    """Return the headline and (word, remark) of each line."""
    state = controller.state
    if state == "new":
        return "Not started: run() starts the training.", []
    if state == "running":
        return "Training runs.", []
    report = controller.where
    rows = []
    for line in repr(report).splitlines()[1:]:
        word, _, remark = line.strip().partition(" ")
        rows.append((word, remark.strip()))
    return report.headline(), rows
