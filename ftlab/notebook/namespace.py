"""What of ftlab lives in the user's namespace, found without importing torch."""

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ftlab.session.debugging.debugger import Debugger
    from ftlab.session.watch import Watch


def watches(namespace: Mapping[str, Any]) -> "list[Watch]":
    """Return the watches among the user's variables, those under way last."""
    module = sys.modules.get("ftlab.session.watch")
    if module is None:
        return []
    found = _unique(v for v in namespace.values() if isinstance(v, module.Watch))
    return sorted(found, key=lambda watch: bool(watch.state == "watching"))


def debuggers(namespace: Mapping[str, Any]) -> "list[Debugger]":
    """Return the debuggers among the user's variables, and the one under way."""
    module = sys.modules.get("ftlab.session.debugging.debugger")
    if module is None:
        return []
    found = [v for v in namespace.values() if isinstance(v, module.Debugger)]
    active = module.Debugger.active()
    return _unique(found if active is None else [*found, active])


def release_debugged() -> None:
    """End the run that waits in a pause, if there is one."""
    for debugger in debuggers({}):
        debugger.close()


def _unique(values: Iterable[Any]) -> list[Any]:
    return list({id(value): value for value in values}.values())
