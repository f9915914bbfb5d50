"""What a function uses besides its arguments, as far as its names tell."""

import functools
import inspect
from collections.abc import Iterator
from typing import Any


def from_outside(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a function finds by name besides its arguments."""
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
        variables = inspect.getclosurevars(plain)
        yield from variables.nonlocals.items()
        yield from variables.globals.items()
