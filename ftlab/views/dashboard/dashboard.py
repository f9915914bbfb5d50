"""The dashboard: state, findings, gradients, loss and adapters on one screen.

Each further view is one line that says what it shows, and unfolds to it.

Who calls whom: the host displays the dashboard and calls `Dashboard.refresh` from a
background thread, at most 5 times a second; every part sends only what is new. At a
pause and at the end the host calls `Dashboard.settle` and puts
`Dashboard.snapshot_bundle` in the place of the first display, so that the saved
notebook holds the last picture.
"""

import base64
import functools
import html
import textwrap
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ftlab.records.errors import FtlabWarning
from ftlab.records.finding import NotChecked
from ftlab.runlog.run import Run
from ftlab.views.dashboard.details import Details
from ftlab.views.dashboard.head import head_of
from ftlab.views.drawn import Figure
from ftlab.views.findings.findings import FindingsView
from ftlab.views.layers.gradients import GradientView
from ftlab.views.layers.lora import LoraView
from ftlab.views.layers.moments import MomentsView
from ftlab.views.layers.spectra import SpectraView
from ftlab.views.layers.updates import UpdatesView
from ftlab.views.steps.answers import AnswersView
from ftlab.views.steps.clipping import ClippingView
from ftlab.views.steps.logits import LogitsView
from ftlab.views.steps.loss import LossView
from ftlab.views.steps.memory import MemoryView
from ftlab.views.steps.scaler import ScalerView
from ftlab.views.steps.schedule import ScheduleView
from ftlab.views.steps.time import TimeView
from ftlab.views.view import View, new_figure, png, widget_mode, with_widget

DETAILS = (
    "samples",
    "schedule",
    "clipping",
    "scaler",
    "updates",
    "moments",
    "logits",
    "spectra",
)
"""Views that are a line each until it is opened."""


class Dashboard:
    """Everything that is known of a run, on one screen.

    Parameters
    ----------
    run
        A live or recorded run.
    not_checked
        Rules that could not decide, or a function that returns them.
    state
        Returns one word for the head line: ``"training"``, ``"paused"``,
        ``"finished"``.

    Attributes
    ----------
    findings, gradients, loss, lora, memory
        The views that it shows.
    details
        The views that are a line each, `DETAILS`.
    """

    def __init__(
        self,
        run: Run,
        not_checked: Sequence[NotChecked] | Callable[[], Sequence[NotChecked]] = (),
        *,
        state: Callable[[], str] = lambda: "",
    ) -> None:
        self._run = run
        self._state = state
        self._lock = threading.RLock()
        self._box: Any = None
        self._head: Any = None
        self._broken: set[str] = set()
        self.findings = FindingsView(run, not_checked)
        self.gradients = GradientView(run)
        self.loss = LossView(run)
        self.lora = LoraView(run)
        self.memory = MemoryView(run)
        self.time = TimeView(run)
        self.schedule = ScheduleView(run)
        self.clipping = ClippingView(run)
        self.scaler = ScalerView(run)
        self.updates = UpdatesView(run)
        self.moments = MomentsView(run)
        self.logits = LogitsView(run)
        self.spectra = SpectraView(run)
        self.samples = AnswersView(run)
        self.details = Details({n: getattr(self, n) for n in DETAILS}, self._guard)

    @property
    def parts(self) -> dict[str, View[Any]]:
        """The views on the screen by name, without those that failed."""
        all_: dict[str, View[Any]] = {
            "findings": self.findings,
            "gradients": self.gradients,
            "loss": self.loss,
            "lora": self.lora,
        }
        return {name: view for name, view in all_.items() if name not in self._broken}

    @property
    def _live(self) -> dict[str, View[Any]]:
        """What is on the screen, and what may be shown by itself."""
        return {**self.parts, "memory": self.memory, "time": self.time}

    def show(self, run: Run) -> None:
        """Show another run from now on, where this one is on the screen."""
        with self._lock:
            self._run = run
            self._broken.clear()
            for name, view in {**self._live, **self.details.views}.items():
                self._guard(name, functools.partial(view.show, run))
        self.refresh()

    def refresh(self) -> None:
        """Bring the screen up to date. Never raises: a part that fails is detached.

        Parts that are shown by themselves are brought up to date too.
        """
        with self._lock:
            if self._box is not None:
                self._guard("head", self._refresh_head)
            for name, view in self._live.items():
                self._guard(name, view.refresh)
            self.details.refresh()

    def settle(self) -> None:
        """Store the complete state in the widgets, at a pause and at the end."""
        self.refresh()
        with self._lock:
            for name, view in self._live.items():
                self._guard(name, view.settle)
            self.details.settle()

    def widget(self) -> Any:
        """Return the dashboard's one widget."""
        import ipywidgets

        with self._lock:
            if self._box is None:
                self._head = ipywidgets.HTML()
                self._head.add_class("ftlab-head-line")
                children = [self._head]
                for name, view in self.parts.items():
                    made = self._guard(name, view.widget)
                    children += [] if made is None else [made]
                # above the adapters, which fill pages when there are 80 layers
                at = len(children) - ("lora" in self.parts)
                children.insert(at, self.details.widget())
                layout = ipywidgets.Layout(width="100%", overflow="hidden")
                self._box = ipywidgets.VBox(children, layout=layout)
                self._box.add_class("ftlab-dashboard")
                self._guard("head", self._refresh_head)
            return self._box

    def figure(self) -> Figure:
        """Return all parts in one matplotlib figure."""
        drawn: list[tuple[str, float, functools.partial[None]]] = []
        for name, view in self.parts.items():
            summary = self._guard(name, functools.partial(getattr, view, "summary"))
            if summary is not None:
                draw = functools.partial(view.draw_on, summary=summary)
                drawn.append((name, view.size_of(summary)[1], draw))
        if lines := self._lines():
            write = functools.partial(_write, lines=lines)
            at = len(drawn) - ("lora" in self.parts)
            drawn.insert(at, ("details", 0.2 * len(lines) + 0.1, write))
        heights = [0.35, *(height for _, height, _ in drawn)]
        figure = new_figure(9.0, sum(heights))
        head, *rest = figure.subfigures(
            len(heights), 1, height_ratios=heights, squeeze=False
        )[:, 0]
        words = "\n".join(textwrap.wrap(head_of(self._run, self._state()), 130))
        head.text(0.012, 0.5, words, fontsize=8, fontweight="bold", va="center")
        for (name, _, draw), place in zip(drawn, rest, strict=True):
            self._guard(name, functools.partial(draw, place))
        return figure

    def _lines(self) -> list[str]:
        """Say what the further views show, one line each, wrapped."""
        said = [
            f"{self.details.views[name].title}: {line}"
            for name, line in self.details.lines().items()
        ]
        return [part for line in said for part in textwrap.wrap(line, 130)]

    def snapshot_bundle(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the display as it is now: a picture and a text that never changes.

        The text is constant, because a display that is updated in place keeps the
        first text when nbval runs the notebook again.
        """
        self.settle()
        data: dict[str, Any] = {"text/plain": repr(self)}
        picture = self._guard("picture", lambda: png(self.figure()))
        if picture is not None:
            data["image/png"] = base64.b64encode(picture).decode()
        if widget_mode() == "static":
            return data, {}
        box = self._guard("widget", self.widget)
        return (data, {}) if box is None else with_widget(data, box)

    def _refresh_head(self) -> None:
        words = head_of(self._run, self._state())
        value = f'<div style="{_HEAD_STYLE}">{html.escape(words)}</div>'
        if value != self._head.value:
            self._head.value = value

    def _guard(self, name: str, work: Callable[[], Any]) -> Any:
        """Run ``work``; a failure is one warning and the end of that part."""
        if name in self._broken:
            return None
        try:
            return work()
        except Exception as error:  # noqa: BLE001  a broken view must not stop training
            self._broken.add(name)
            message = (
                f"The dashboard's part {name!r} failed and is no longer updated "
                f"({type(error).__name__}: {error}); training continues."
            )
            warnings.warn(message, FtlabWarning, stacklevel=3)
            return None

    def __repr__(self) -> str:
        return "ftlab dashboard: findings, gradients, loss, LoRA adapters"

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None, **_: Any
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        return self.snapshot_bundle()


def _write(place: Any, lines: Sequence[str]) -> None:
    """Write lines below each other on a part of a figure."""
    for index, line in enumerate(lines):
        # a dollar sign would be taken for mathematics
        shown, at = line.replace("$", r"\$"), 1 - (index + 0.5) / len(lines)
        place.text(0.012, at, shown, fontsize=8, va="center")


_HEAD_STYLE = (
    "font:600 13px/1.6 var(--jp-ui-font-family,system-ui,sans-serif);"
    "color:var(--jp-content-font-color1,#1f1f1f);padding:2px 4px;"
    "font-variant-numeric:tabular-nums;overflow-wrap:anywhere;white-space:normal"
)
