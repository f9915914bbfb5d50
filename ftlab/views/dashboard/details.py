"""A section of the dashboard: views that are one line each until they are opened.

Who calls whom: `Dashboard` calls `Details.refresh` with every refresh of its own. Each
view has a line that says what it shows; opening the line in the browser shows the view,
also while a cell is running, because the open views are brought up to date like all
others. A view for which the run has nothing to show has no line.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ftlab.views.view import View

Guard = Callable[[str, Callable[[], Any]], Any]
"""Runs the work of a view, whose failure must not stop the others."""


class Details:
    """Lines that unfold to views.

    Parameters
    ----------
    views
        By name, in the order of their lines.
    guard
        Called with a view's name and what is to be done for it.
    """

    def __init__(self, views: Mapping[str, View[Any]], guard: Guard) -> None:
        self.views = dict(views)
        self._guard = guard
        self._box: Any = None
        self._folds: dict[str, Any] = {}

    def lines(self) -> dict[str, str]:
        """Return what the views with something to show say, by name."""
        said = {
            name: self._guard(name, view.headline) for name, view in self.views.items()
        }
        return {name: line for name, line in said.items() if line}

    def widget(self) -> Any:
        """Return the section's one widget; empty while there is nothing to show."""
        import ipywidgets

        if self._box is None:
            self._box = ipywidgets.VBox((), layout=ipywidgets.Layout(width="100%"))
            self._box.add_class("ftlab-details")
            self.refresh()
        return self._box

    def refresh(self) -> None:
        """Bring lines and views up to date; without a widget this costs nothing."""
        if self._box is not None:
            self._unfold(self.lines())
        for name, view in self.views.items():
            self._guard(name, view.refresh)

    def settle(self) -> None:
        """Store the complete state in the widgets."""
        for name, view in self.views.items():
            self._guard(name, view.settle)

    def _unfold(self, lines: Mapping[str, str]) -> None:
        for name, line in lines.items():
            if name not in self._folds:
                made = self._guard(name, self.views[name].widget)
                if made is None:
                    continue
                self._folds[name] = _fold(made)
            title = (f"{self.views[name].title}  ·  {line}",)
            if self._folds[name].titles != title:
                self._folds[name].titles = title
        shown = tuple(
            self._folds[name]
            for name in self.views
            if name in self._folds and name in lines
        )
        if self._box.children != shown:
            self._box.children = shown


def _fold(widget: Any) -> Any:
    import ipywidgets

    layout = ipywidgets.Layout(width="100%", margin="0")
    fold = ipywidgets.Accordion((widget,), selected_index=None, layout=layout)
    fold.add_class("ftlab-fold")
    return fold
