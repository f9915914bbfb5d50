"""The panel of a replay: its text, its strip, and what moves it.

It is an anywidget with keys, or core ipywidgets where options say so. Clicks and keys
call the replay; the replay calls `ReplayPanel.refresh` wherever it has moved to.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self

from ftlab.views.replay.markup import body_html, head_html
from ftlab.views.replay.scene import Scene
from ftlab.views.replay.strip import bars_of, strip_html
from ftlab.views.view import widget_mode


class Walked(Protocol):
    """What the panel asks of a replay."""

    @property
    def summary(self) -> Scene:
        """Where it stands."""

    def at(self, index: int) -> Self:
        """Go to an operation."""

    def step(self, to: str = "op") -> Self:
        """Go on."""

    def back(self, to: str = "op") -> Self:
        """Go back."""

    def to_cause(self) -> Self:
        """Go to what led to the culprit."""

    def to_culprit(self) -> Self:
        """Go to where the anomaly begins."""


@dataclass(frozen=True, slots=True)
class Move:
    """A button: what it says and does, and its key."""

    tip: str
    key: str
    shown: str
    go: Callable[[Walked], object]


MOVES = {
    "what led there": Move(
        "Go to the first unusual operation that led to it",
        "Home",
        "Home",
        lambda replay: replay.to_cause(),
    ),
    "back module": Move(
        "Go back to the start of the previous module",
        "Shift+ArrowLeft",
        "Shift+←",
        lambda replay: replay.back("module"),
    ),
    "back op": Move(
        "Go one operation back", "ArrowLeft", "←", lambda replay: replay.back()
    ),
    "step op": Move(
        "Go to the next operation", "ArrowRight", "→", lambda replay: replay.step()
    ),
    "step module": Move(
        "Go to the next module",
        "Shift+ArrowRight",
        "Shift+→",
        lambda replay: replay.step("module"),
    ),
    "where it begins": Move(
        "Go to the operation where the anomaly begins",
        "End",
        "End",
        lambda replay: replay.to_culprit(),
    ),
}
"""What a replay can be asked, in the order of its buttons."""


class ReplayPanel:
    """Shows a replay, and moves it.

    Parameters
    ----------
    replay
        What is walked.

    Attributes
    ----------
    widget
        Its one widget.
    """

    def __init__(self, replay: Walked) -> None:
        self._replay = replay
        scene = replay.summary
        self._bars = bars_of(scene.trace, scene.grades)
        self._count = len(scene.trace.ops)
        self._moving = False
        self._live = widget_mode() == "anywidget"
        self.widget: Any = self._make_live() if self._live else self._make_core()
        self.widget.add_class("ftlab-replay")
        self.refresh()

    def refresh(self) -> None:
        """Show where the replay stands."""
        scene = self._replay.summary
        strip = strip_html(scene.trace, self._bars, scene.at)
        if self._live:
            self.widget.show(head_html(scene), strip, body_html(scene), scene.at)
            return
        above, slider, _, below = self.widget.children
        above.value, below.value = head_html(scene) + strip, body_html(scene)
        self._moving = True
        slider.value = scene.at
        self._moving = False

    def _make_live(self) -> Any:
        from ftlab.views.replay.widget import ReplayWidget

        buttons = [
            {"command": name, "tip": one.tip, "key": one.key, "shown": one.shown}
            for name, one in MOVES.items()
        ]
        return ReplayWidget(
            self._go, self._replay.at, buttons, len(self._replay.summary.trace.ops)
        )

    def _make_core(self) -> Any:
        import ipywidgets

        wide = ipywidgets.Layout(width="100%", max_width="1180px")
        slider = ipywidgets.IntSlider(
            value=self._replay.summary.at,
            max=len(self._replay.summary.trace.ops) - 1,
            layout=wide,
        )
        slider.observe(self._slid, names="value")
        buttons = [self._core_button(name) for name in MOVES]
        row = ipywidgets.HBox(buttons, layout=ipywidgets.Layout(flex_flow="wrap"))
        return ipywidgets.VBox([ipywidgets.HTML(), slider, row, ipywidgets.HTML()])

    def _core_button(self, name: str) -> Any:
        import ipywidgets

        layout = ipywidgets.Layout(width="auto")
        button = ipywidgets.Button(
            description=name, tooltip=MOVES[name].tip, layout=layout
        )
        button.on_click(lambda _: self._go(name))
        return button

    def _slid(self, change: Any) -> None:
        if not self._moving:
            self._replay.at(int(change["new"]))

    def _go(self, command: str) -> None:
        MOVES[command].go(self._replay)
