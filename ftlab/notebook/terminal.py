"""IPython in a terminal: nothing is drawn there, so watches are shown as text."""

import functools
import sys
from typing import Any

from ftlab.records.handle import CallbackHandle, Handle, HandleStack


def is_terminal(shell: Any) -> bool:
    """Tell whether ``shell`` is the terminal's, and no kernel's."""
    module = sys.modules.get("IPython.terminal.interactiveshell")
    return module is not None and isinstance(shell, module.TerminalInteractiveShell)


def register_text(shell: Any) -> Handle:
    """Show watches by their summary, and dashboards by what was found."""
    formatter = shell.display_formatter.ipython_display_formatter
    handles = HandleStack()
    for place, function in (
        (("ftlab.session.watch", "Watch"), lambda watch: show_summary([watch])),
        (("ftlab.views.dashboard.dashboard", "Dashboard"), _show_findings),
    ):
        formatter.for_type_by_name(*place, function)
        name = ".".join(place)
        handles.add(CallbackHandle(functools.partial(formatter.pop, name, None)))
    return handles


def show_summary(watches: list[Any]) -> None:
    """Print what ``ftlab run`` prints at its end."""
    from ftlab.session.summary import print_watches

    print_watches(watches, sys.stdout)


def _show_findings(dashboard: Any) -> None:
    sys.stdout.write(f"{dashboard.findings!r}\n")
