"""What surrounds the session: a notebook that can show and update, or nothing.

Who calls whom: ``%load_ext ftlab`` registers the notebook's host with `use`; `Watch`
and `Debugger` ask `host` for the current one whenever they have something to show or a
worker thread whose prints belong to a cell. Without a notebook the `QuietHost` answers,
which shows nothing and routes nothing.
"""

from typing import Any, Protocol

from ftlab.records.handle import CallbackHandle, Handle


class Shown(Protocol):
    """Something on the screen that can be drawn again in place."""

    def update(self, shown: Any) -> None:
        """Replace what is on the screen; may be called from any thread."""


class Host(Protocol):
    """The services that a front end lends to the session."""

    def display(self, shown: Any) -> Shown:
        """Show an object in the cell that is running and return its handle."""

    def finish(self, shown: Any) -> None:
        """Draw ``shown`` a last time everywhere it is displayed, and let go of it.

        A saved notebook keeps this picture. ``None`` and objects that were never
        displayed are ignored.
        """

    def calling_cell(self) -> Any:
        """Name the cell whose execution the calling thread serves, or ``None``.

        ``None`` too while the thread serves a widget's click: prints that follow one
        have no cell of their own. Treat the result as opaque.
        """

    def route_output(self, cell: Any) -> None:
        """Send what the calling thread prints and displays from now on to ``cell``.

        ``cell`` comes from `calling_cell`, taken in the thread that ran the command;
        ``None`` leaves the route as it is.
        """


class _Unseen:
    """The handle of something that nobody sees."""

    def update(self, shown: Any) -> None:
        """Do nothing."""


class QuietHost:
    """The host outside notebooks: nothing is shown, prints go where they always go."""

    def display(self, shown: Any) -> Shown:
        """Show nothing."""
        return _Unseen()

    def finish(self, shown: Any) -> None:
        """Do nothing."""

    def calling_cell(self) -> Any:
        """Return ``None``: there are no cells."""
        return None

    def route_output(self, cell: Any) -> None:
        """Leave the output where it goes."""


_hosts: list[Host] = [QuietHost()]


def host() -> Host:
    """Return the host that was registered last, or the quiet one."""
    return _hosts[-1]


def use(services: Host) -> Handle:
    """Make ``services`` the host until the handle is removed.

    Examples
    --------
    >>> from ftlab.session.host import QuietHost, host, use
    >>> mine = QuietHost()
    >>> handle = use(mine)
    >>> host() is mine
    True
    >>> handle.remove()
    >>> host() is mine
    False
    """
    _hosts.append(services)
    return CallbackHandle(lambda: _hosts.remove(services))
