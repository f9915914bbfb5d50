"""One walk over all that the user's own names reach.

Breadth first, so that the way to an object is the shortest one. A library's modules,
functions and classes are not entered: 17,000 objects are met where 600,000 are known.
"""

import functools
import gc
import os
import site
import sys
import sysconfig
import types
from collections.abc import Iterable
from typing import Any

from ftlab.probes.holding.edges import (
    NUMBERS,
    Running,
    kind_of,
    referents,
    running_frames,
)

LONG = 4096
"""Length from which a text counts as something that takes memory."""

MOST = 500_000
"""Objects after which a walk ends: 1 to 3 s."""

BULK = 20_000
"""Elements from which a container is a data set, a vocabulary: it is not entered."""

_FAULTS = "ftlab.faults"
"""What the gallery's faults do is what users do."""


class Walk:
    """All that is reached from the user's modules, and from functions that are running.

    What only a library's modules hold is not met.

    Parameters
    ----------
    most
        Objects after which it goes no further.
    passed
        Objects that are not entered, and are no way to anything.

    Attributes
    ----------
    objects
        In the order in which they were reached; roots are modules and `Running`.
    parents
        For each, the position of the object that reached it; a root's own is -1.
    is_whole
        Whether it has come to its end: two that were cut off are not alike.
    """

    def __init__(self, most: int = MOST, passed: Iterable[Any] = ()) -> None:
        self.objects: list[Any] = []
        self.parents: list[int] = []
        self._seen: set[int] = set(map(id, passed))
        # What this walk itself holds must not be a way to anything.
        self._seen.update(map(id, (self.objects, self.parents, self._seen, self)))
        self._modules = {id(vars(each)) for each in loaded_modules()}
        collected = gc.isenabled()
        gc.disable()
        try:
            self.is_whole = self._reach([*own_modules(), *_running()], most)
        finally:
            if collected:
                gc.enable()

    def way(self, position: int) -> tuple[Any, ...]:
        """Return the objects from a root to the one that it reaches, both included."""
        found: list[Any] = []
        while position >= 0:
            found.append(self.objects[position])
            position = self.parents[position]
        return tuple(reversed(found))

    def has_met(self, each: Any) -> bool:
        """Tell whether an object was met on the way."""
        return id(each) in self._seen

    def _reach(self, roots: list[Any], most: int) -> bool:
        """Walk on from ``roots``; tell whether that took no more than ``most`` objects.

        What was reached before is not reached again.
        """
        objects, parents, seen = self.objects, self.parents, self._seen
        modules = self._modules
        methods: list[Any] = []
        position = len(objects)
        for root in roots:
            seen.add(id(root))
            objects.append(root)
            parents.append(-1)
        while position < len(objects) <= most:
            found = referents(objects[position])
            if len(found) > BULK or NUMBERS.issuperset(map(type, found)):
                found = []
            for child in found:
                key = id(child)
                if key in seen or key in modules or _is_passed(child):
                    continue
                seen.add(key)
                if type(child) is types.MethodType:
                    methods.append((child, position))  # no way that a user would name
                    continue
                objects.append(child)
                parents.append(position)
            position += 1
            if position == len(objects):
                objects += [method for method, _ in methods]
                parents += [owner for _, owner in methods]
                methods = []
        return len(objects) <= most


def _is_passed(child: Any) -> bool:
    """Leave out what keeps nothing, a library's own code, modules, and what runs."""
    kind = kind_of(type(child))
    if kind in ("object", "tensor"):
        return False
    if kind == "text":
        return len(child) < LONG
    if kind == "frame":
        return any(child is each for each in running_frames())
    if kind == "function" and child.__closure__ is not None:
        return False
    if kind in ("function", "type"):
        module = child.__module__
        return is_library(module if isinstance(module, str) else None)
    return kind in ("atom", "module")


def loaded_modules() -> list[types.ModuleType]:
    """Return the modules that Python has loaded."""
    loaded: list[Any] = list(sys.modules.values())
    return [each for each in loaded if isinstance(each, types.ModuleType)]


def own_modules() -> list[types.ModuleType]:
    """Return the modules that are the user's own, the notebook or script first."""
    main = sys.modules.get("__main__")
    own = [each for each in loaded_modules() if not is_library(each.__name__)]
    return sorted(own, key=lambda each: each is not main)


def _running() -> list[Running]:
    """Return the functions that run, but for ftlab's own; the user's first."""
    found = []
    for frame in running_frames():
        name = str(frame.f_globals.get("__name__", ""))
        if not is_ours(name) and frame.f_code.co_name != "<module>":
            found.append((is_library(name), frame))
    found.sort(key=lambda each: each[0])
    return [Running(frame) for _, frame in found]


def is_ours(module: str) -> bool:
    """Tell whether a module is ftlab's own, and no fault of its gallery."""
    return module.partition(".")[0] == "ftlab" and not module.startswith(_FAULTS)


@functools.cache
def is_library(module: str | None) -> bool:
    """Tell whether a module came with Python or a package, by its name.

    Examples
    --------
    >>> from ftlab.probes.holding.walk import is_library
    >>> is_library("torch.nn"), is_library("json"), is_library("__main__")
    (True, True, False)
    """
    if not module or module == "__main__" or module.startswith(_FAULTS):
        return False
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or is_ours(module):
        return True
    found = sys.modules.get(module)
    file = getattr(found, "__file__", None)
    if found is not None and file is None:
        return True  # built in, or a namespace
    return file is not None and file.startswith(_library_folders())


@functools.cache
def _library_folders() -> tuple[str, ...]:
    kinds = ("stdlib", "platstdlib", "purelib", "platlib")
    paths = map(sysconfig.get_paths().__getitem__, kinds)
    found = (*paths, *site.getsitepackages(), site.getusersitepackages())
    return tuple(f"{each}{os.sep}" for each in found)
