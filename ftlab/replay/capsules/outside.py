"""What a function uses besides its arguments, as far as its names tell."""

import contextlib
import functools
import inspect
from collections.abc import Iterator
from types import FunctionType
from typing import Any


def from_outside(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a function finds by name besides its arguments.

    An object that calls another function says what that is with ``stands_for``.
    """
    function = getattr(function, "stands_for", function)
    if isinstance(function, functools.partial):
        yield from ((str(i), value) for i, value in enumerate(function.args))
        yield from function.keywords.items()
        yield from from_outside(function.func)
        return
    if not inspect.isfunction(function) and not inspect.ismethod(function):
        function = function.__call__  # an object that can be called
    owner = getattr(function, "__self__", None)
    held = getattr(owner, "__dict__", {})
    yield from ((f"self.{name}", value) for name, value in held.items())
    plain = getattr(function, "__func__", function)
    if inspect.isfunction(plain):
        yield from _variables(plain)


def _variables(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield what is bound; `inspect.getclosurevars` fails where something is not."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in cells:
        with contextlib.suppress(ValueError):
            yield name, cell.cell_contents
    names = function.__code__.co_names
    values = function.__globals__
    yield from ((name, values[name]) for name in names if name in values)
