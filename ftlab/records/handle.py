"""Handles: everything that is attached can be taken off, once or many times.

A `HandleStack` collects handles while attaching; `remove` takes all of them off in
reverse order even when one fails. `rebind` replaces an attribute until its handle is
removed and then restores exactly what was there, including *nothing was there*.
"""

from collections.abc import Callable
from typing import Any, Protocol


class Handle(Protocol):
    """Something attached; ``remove`` may be called more than once."""

    def remove(self) -> None:
        """Take it off."""


class CallbackHandle:
    """A handle that runs ``undo`` at the first ``remove`` and nothing afterwards."""

    __slots__ = ("_undo",)

    def __init__(self, undo: Callable[[], None]) -> None:
        self._undo: Callable[[], None] | None = undo

    def remove(self) -> None:
        """Run the undo function, once."""
        undo, self._undo = self._undo, None
        if undo is not None:
            undo()


class HandleStack:
    """Handles that come off together, last one first."""

    def __init__(self) -> None:
        self._handles: list[Handle] = []

    def add(self, handle: Handle) -> None:
        """Keep ``handle`` until `remove`."""
        self._handles.append(handle)

    def remove(self) -> None:
        """Take all handles off; the first error is raised after the last handle."""
        failure: BaseException | None = None
        while self._handles:
            try:
                self._handles.pop().remove()
            except Exception as error:  # noqa: BLE001  every other handle must still go
                failure = failure or error
        if failure is not None:
            raise failure

    def __len__(self) -> int:
        return len(self._handles)


_ABSENT = object()


def rebind(owner: Any, name: str, value: Any) -> Handle:
    """Set ``owner.name`` to ``value`` until the handle is removed.

    The attribute's own entry in ``vars(owner)`` is restored, so that a method rebound
    on an instance leaves no instance attribute behind. When someone else has rebound
    the attribute in the meantime, theirs is left alone.
    """
    before = vars(owner).get(name, _ABSENT)
    setattr(owner, name, value)

    def undo() -> None:
        if vars(owner).get(name, _ABSENT) is not value:
            return
        if before is _ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, before)

    return CallbackHandle(undo)
