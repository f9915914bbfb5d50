"""Handles: everything that is attached can be taken off, once or many times.

A `HandleStack` collects handles while attaching; `remove` takes all of them off in
reverse order even when one fails. `rebind` replaces an attribute until its handle is
removed and then restores exactly what was there, including *nothing was there*.
"""

import contextlib
import sys
import weakref
from collections.abc import Callable
from typing import Any, Protocol

from ftlab.records.by_id import ById


class Handle(Protocol):
    """Something attached; ``remove`` may be called more than once."""

    def remove(self) -> None:
        """Take it off."""


def when_gone(thing: Any, call: Callable[[], Any]) -> Callable[[], Any]:
    """Return a weak reference that calls ``call`` once ``thing`` is gone.

    Only as long as the reference itself is kept, and not when the process ends: then
    what is called may be gone as well. A finalizer would keep ``call`` to the end of
    ``thing``.
    """
    at_end = sys.is_finalizing
    return weakref.ref(thing, lambda _: at_end() or call())


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
            except BaseException as error:  # noqa: BLE001  all others must still go
                failure = failure or error
        if failure is not None:
            raise failure

    def __len__(self) -> int:
        return len(self._handles)


_ABSENT = object()


class _Binding:
    """One rebinding of an attribute, and what was there before it."""

    __slots__ = ("before", "live", "owner", "value")

    def __init__(self, owner: Any, before: Any, value: Any) -> None:
        self.owner = owner  # kept alive: its id is the key of its stack
        self.before = before
        self.value = value
        self.live = True


class _Stack(list[_Binding]):
    """The rebindings of one attribute; held by their handles, as the owner may go."""

    __slots__ = ("__weakref__",)


_stacks: weakref.WeakValueDictionary[tuple[int, str], _Stack]
_stacks = weakref.WeakValueDictionary()
_gone: ById[Any, Any] = ById()


def let_go(value: Any, before: Any) -> None:
    """Say that the stand-in ``value`` is done, and what it stood in for.

    Somebody who has wrapped it in the meantime puts back what `settled` gives.
    """
    with contextlib.suppress(TypeError):  # nothing can refer to it weakly
        _gone[value] = before


def settled(value: Any) -> Any:
    """Return ``value``, or what was there before it if it is done meanwhile."""
    while callable(value) and value in _gone:
        value = _gone[value]
    return value


def rebind(owner: Any, name: str, value: Any) -> Handle:
    """Set ``owner.name`` to ``value`` until the handle is removed.

    The attribute's own entry in ``vars(owner)`` is restored, so that a method rebound
    on an instance leaves no instance attribute behind. Handles of one attribute may be
    removed in any order: what was rebound in between stays reachable through what was
    put over it, and goes with it. When somebody else has rebound the attribute in the
    meantime, theirs is left alone.

    Examples
    --------
    >>> import types
    >>> from ftlab.records.handle import rebind
    >>> owner = types.SimpleNamespace(name="own")
    >>> lower, upper = rebind(owner, "name", "a"), rebind(owner, "name", "b")
    >>> lower.remove()
    >>> owner.name
    'b'
    >>> upper.remove()
    >>> owner.name
    'own'
    """
    _gone.pop(value, None)  # it is back
    key = (id(owner), name)
    stack = _stacks.setdefault(key, _Stack())
    binding = _Binding(owner, vars(owner).get(name, _ABSENT), value)
    stack.append(binding)
    setattr(owner, name, value)

    def undo() -> None:
        binding.live = False
        let_go(value, binding.before)
        while stack and not stack[-1].live and _is_on_top(stack[-1], name):
            _restore(stack.pop(), name)
        if not stack and _stacks.get(key) is stack:
            del _stacks[key]

    return CallbackHandle(undo)


def _is_on_top(binding: _Binding, name: str) -> bool:
    return vars(binding.owner).get(name, _ABSENT) is binding.value


def _restore(binding: _Binding, name: str) -> None:
    before = settled(binding.before)
    if before is _ABSENT:
        delattr(binding.owner, name)
    else:
        setattr(binding.owner, name, before)
