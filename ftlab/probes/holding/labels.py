"""What the steps of a way are called: as one would write them in Python."""

import re
import types
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from ftlab.probes.holding.edges import Kind, Running, kind_of, variables
from ftlab.probes.holding.walk import Walk
from ftlab.records.holding import CLOSED, GRAPH, MANY, Path

_TABLES = frozenset({"._modules", "._parameters", "._buffers"})
"""Where a module keeps what is written as its attribute."""

OUTPUTS = ("Out", "_oh")
SHOWN = re.compile(r"_{1,3}|_\d+")
"""Names by which IPython itself keeps the values of cells: of all, and of one."""

NOTEBOOK = ("", ".Out")
"""What is on each of these ways."""

LONG_KEY = 40
"""Characters of a key from which it is data, and no name."""


class Labels:
    """Names what a walk has reached, each step once.

    Elements of lists and of dictionaries with keys that are no names are not told
    apart: they are `MANY`. What an autograd graph holds is `GRAPH` as a whole. A step
    that repeats the one before it, as in a linked list, is left out.
    """

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self._known: dict[int, Path] = {}

    def path(self, position: int) -> Path:
        """Return the labels of the steps to the object at a position of the walk."""
        walk, known = self._walk, self._known
        missing = []
        while position not in known:
            parent = walk.parents[position]
            if parent < 0:
                known[position] = (root_label(walk.objects[position]),)
                break
            missing.append(position)
            position = parent
        path = known[position]
        for each in reversed(missing):
            owner = walk.parents[each]
            above = walk.parents[owner]
            outer = walk.objects[above] if above >= 0 else None
            path = _longer(path, outer, walk.objects[owner], walk.objects[each])
            known[each] = path
        return path


def _longer(path: Path, above: Any, owner: Any, child: Any) -> Path:
    """Add the step from ``owner``, which ``above`` has, to ``child``."""
    label = "" if path[-1] == GRAPH else _step(above, owner, child)
    if not label or label == path[-1]:
        return path
    if path[-1] in _TABLES and label[:2] == "['":
        name = label[2:-2]
        label = f"[{name}]" if name.isdigit() else f".{name}"
        path = path[:-1]
    return (*path, label)


def way_labels(way: Sequence[Any]) -> Path:
    """Return the labels of the steps along a way; see `Labels`."""
    path: Path = (root_label(way[0]),)
    for position in range(1, len(way)):
        above = way[position - 2] if position > 1 else None
        path = _longer(path, above, way[position - 1], way[position])
    return path


def root_label(root: Any) -> str:
    """Name what a walk began at: nothing for the user's own namespace."""
    if isinstance(root, types.ModuleType):
        return "" if root.__name__ == "__main__" else root.__name__
    if type(root) is Running:
        return f"{root.frame.f_code.co_qualname}()"
    if type(root) is types.GeneratorType:
        return f"{root.__qualname__}()"
    return type(root).__qualname__


def _step(above: Any, owner: Any, child: Any) -> str:
    """Name the step from ``owner`` to ``child``."""
    if type(above) is types.FunctionType and above.__closure__ is owner:
        name = above.__code__.co_freevars[above.__closure__.index(child)]
        outer = above.__qualname__.rpartition(".<locals>")[0] or above.__qualname__
        return f"{CLOSED}{outer}().{name}"
    name_of = _BY_KIND.get(kind_of(type(owner)))
    if name_of is not None:
        return name_of(owner, child)
    if issubclass(type(owner), dict):
        if own_attributes(above) is owner or kind_of(type(above)) == "type":
            return _named(owner, child)
        name = _name_in(owner, child)
        return f"[{name!r}]" if name and len(name) <= LONG_KEY else MANY
    return _of_object(owner, child)


def _of_module(owner: types.ModuleType, child: Any) -> str:
    label = _named(vars(owner), child)
    name = label.removeprefix(".")
    kept = owner.__name__ == "__main__" and (name in OUTPUTS or SHOWN.fullmatch(name))
    return NOTEBOOK[1] if kept else label


def _of_tensor(owner: Any, child: Any) -> str:
    if kind_of(type(child)) == "node":
        return GRAPH
    if owner.is_leaf and child is owner.grad:
        return ".grad"
    return _of_object(owner, child)


def _of_frame(owner: types.FrameType, child: Any) -> str:
    return f".{owner.f_code.co_qualname}()" + _named(variables(owner), child)


def _of_object(owner: Any, child: Any) -> str:
    if issubclass(type(owner), list | tuple | set | frozenset | deque):
        return MANY
    if type(owner) is types.CellType:
        return ""
    if type(owner) is types.MethodType:
        return ".__self__" if child is owner.__self__ else ""
    if type(owner) is types.GeneratorType:
        return (
            "" if owner.gi_frame is None else _named(variables(owner.gi_frame), child)
        )
    attributes = own_attributes(owner)
    if attributes is child:
        return ""
    name = _name_in(attributes or {}, child) or _name_in(_slots(owner), child)
    return f".{name}" if name else f"<{type(owner).__name__}>"


def _named(values: dict[str, Any], child: Any) -> str:
    name = _name_in(values, child)
    return f".{name}" if name else MANY


def _name_in(values: dict[Any, Any], child: Any) -> str:
    for name, value in dict.items(values):
        if value is child:
            return name if isinstance(name, str) else ""
    return ""


def own_attributes(owner: Any) -> dict[str, Any] | None:
    """Return an object's own attributes; its class is not asked."""
    try:
        found = object.__getattribute__(owner, "__dict__")
    except (AttributeError, TypeError):
        return None
    return found if isinstance(found, dict) else None


def _slots(owner: Any) -> dict[str, Any]:
    found = {}
    for kind in type(owner).__mro__:
        names = vars(kind).get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            try:
                found[name] = object.__getattribute__(owner, name)
            except AttributeError:
                continue
    return found


_BY_KIND: dict[Kind, Callable[[Any, Any], str]] = {
    "running": lambda owner, child: _named(owner.values, child),
    "module": _of_module,
    "node": lambda _owner, _child: GRAPH,
    "tensor": _of_tensor,
    "type": lambda _owner, _child: "",
    "function": lambda _owner, _child: "",
    "frame": _of_frame,
}
