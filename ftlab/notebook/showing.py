"""Live objects get a place on the screen that can be drawn again.

A result that IPython shows by itself cannot be updated. So the classes below are shown
through the host, which keeps the place and puts the final picture there.
"""

from collections.abc import Callable
from typing import Any

from ftlab.notebook.host import NotebookHost
from ftlab.records.handle import CallbackHandle, Handle, HandleStack


def register_live_objects(shell: Any, services: NotebookHost) -> Handle:
    """Show watches and dashboards through ``services``."""
    formatter = shell.display_formatter.ipython_display_formatter
    handles = HandleStack()

    def show(shown: Any) -> None:
        services.display(shown)

    def show_watch(watch: Any) -> None:
        watch.sync()
        services.display(watch.dashboard)

    for place, function in (
        (("ftlab.session.watch", "Watch"), show_watch),
        (("ftlab.views.dashboard.dashboard", "Dashboard"), show),
    ):
        handles.add(_by_name(formatter, place, function))
    return handles


def _by_name(
    formatter: Any, place: tuple[str, str], function: Callable[[Any], None]
) -> Handle:
    formatter.for_type_by_name(*place, function)
    return CallbackHandle(lambda: formatter.pop(".".join(place), None))
