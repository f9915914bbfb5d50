"""Variables outside of a step that it assigns itself: counters, mostly.

``nonlocal n; n += 1`` would count twice when the step is executed twice. What a
function assigns its bytecode says; plain values are remembered and put back.
"""

import dis
import functools
import inspect
from types import CellType, CodeType, FunctionType
from typing import Any

_PLAIN = (int, float, complex, bool, str, bytes, type(None))


class OwnVariables:
    """The plain values of the variables that a function assigns besides its own.

    Parameters
    ----------
    function
        The step.
    """

    def __init__(self, function: Any) -> None:
        self._cells: list[tuple[CellType, Any]] = []
        self._globals: list[tuple[dict[str, Any], str, Any]] = []
        plain = _plain_function(function)
        if plain is not None:
            self._read(plain, _assigned(plain.__code__))

    def _read(
        self, function: FunctionType, assigned: frozenset[tuple[str, str]]
    ) -> None:
        free = function.__code__.co_freevars
        cells = dict(zip(free, function.__closure__ or (), strict=True))
        for how, name in assigned:
            if how == "STORE_DEREF" and name in cells and _is_bound(cells[name]):
                value = cells[name].cell_contents
                if isinstance(value, _PLAIN):
                    self._cells.append((cells[name], value))
            elif how == "STORE_GLOBAL" and name in function.__globals__:
                value = function.__globals__[name]
                if isinstance(value, _PLAIN):
                    self._globals.append((function.__globals__, name, value))

    def restore(self) -> None:
        """Put the values back."""
        for cell, value in self._cells:
            cell.cell_contents = value
        for names, name, value in self._globals:
            names[name] = value


def _plain_function(function: Any) -> FunctionType | None:
    function = inspect.unwrap(getattr(function, "stands_for", function))
    while isinstance(function, functools.partial):
        function = function.func
    found = getattr(function, "__func__", function)
    return found if isinstance(found, FunctionType) else None


@functools.lru_cache(maxsize=64)
def _assigned(code: CodeType) -> frozenset[tuple[str, str]]:
    """Return what a function assigns outside, by the instruction that does.

    The code is the key of the cache: a function would keep its model alive.
    """
    wanted = ("STORE_DEREF", "STORE_GLOBAL")
    found = dis.get_instructions(code)
    return frozenset((i.opname, i.argval) for i in found if i.opname in wanted)


def _is_bound(cell: CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True
