"""The notebook's services for the session: show, update in place, route output.

Who calls whom: `ftlab.notebook.extension` registers a `NotebookHost` with
`ftlab.session.host`; the session calls it, from the main thread and from workers.
"""

import itertools
import os
import warnings
import weakref
from collections.abc import Mapping
from typing import Any

from ftlab.records.errors import FtlabWarning
from ftlab.session.host import Shown

_numbers = itertools.count(1)


class NotebookHost:
    """Shows objects through the shell's display publisher.

    Parameters
    ----------
    shell
        The running ``InteractiveShell``.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._on_screen: list[tuple[weakref.ref[Any], ShownInCell]] = []

    def display(self, shown: Any) -> Shown:
        """Show ``shown`` in the current cell and remember where it stands."""
        handle = ShownInCell(self._shell, shown)
        self._on_screen = [it for it in self._on_screen if it[0]() is not None]
        self._on_screen.append((weakref.ref(shown), handle))
        return handle

    def finish(self, shown: Any) -> None:
        """Draw ``shown`` a last time in every cell that displays it."""
        if shown is None:
            return
        settle = getattr(shown, "settle", None)
        if settle is not None:
            settle()
        mine = [handle for other, handle in self._on_screen if other() is shown]
        self._on_screen = [it for it in self._on_screen if it[0]() is not shown]
        for handle in mine:
            handle.update(shown)

    def calling_cell(self) -> Mapping[str, Any] | None:
        """Return the header of the cell that is running, ``None`` during a click."""
        parent: Mapping[str, Any] = getattr(self._shell, "get_parent", dict)() or {}
        kind = parent.get("header", {}).get("msg_type")
        return parent if kind == "execute_request" else None

    def route_output(self, cell: Mapping[str, Any] | None) -> None:
        """Send the calling thread's prints and displays to ``cell``."""
        if cell is None:
            return
        # ipykernel 7.4 can do it for one thread; before, the route is everyone's.
        route = getattr(self._shell, "set_thread_parent", None)
        route = route or getattr(self._shell, "set_parent", None)
        if route is not None:
            route(cell)


class ShownInCell:
    """One place on the screen.

    The text form stays as it was first shown. Front ends that compare or read text only
    (nbval among them) ignore updates, so a changed text would never match its own
    notebook; the picture and the widget are what moves.
    """

    def __init__(self, shell: Any, shown: Any) -> None:
        self._shell = shell
        self._id = f"ftlab-{os.getpid()}-{next(_numbers)}"
        self._text = ""
        self._publish(shown, update=False)

    def update(self, shown: Any) -> None:
        """Draw ``shown`` here; a failure becomes a warning."""
        try:
            self._publish(shown, update=True)
        except Exception as error:  # noqa: BLE001  a picture must never stop a run
            msg = (
                f"Showing {type(shown).__name__} again failed with "
                f"{type(error).__name__}: {error}"
            )
            warnings.warn(msg, FtlabWarning, stacklevel=2)

    def _publish(self, shown: Any, *, update: bool) -> None:
        data, metadata = mime_bundle(self._shell, shown)
        if update:
            data["text/plain"] = self._text
        self._text = data.get("text/plain", "")
        self._shell.display_pub.publish(
            data, metadata, transient={"display_id": self._id}, update=update
        )


def mime_bundle(shell: Any, shown: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return all forms of ``shown``.

    An object's own bundle goes first: the shell's formatters would hand objects that
    the extension displays back to the extension.
    """
    own = getattr(shown, "_repr_mimebundle_", None)
    if own is None:
        data, metadata = shell.display_formatter.format(shown)
        return dict(data), dict(metadata)
    bundle = own()
    data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
    data = dict(data)
    data.setdefault("text/plain", repr(shown))
    return data, dict(metadata)
