"""Finds the faults and the healthy runs: one per file in the area folders, by id.

An area has a folder for each topic. A file is a fault, or a healthy run that resembles
the faults of its topic; the name of such a file begins with ``healthy_``.
"""

import dataclasses
import difflib
import functools
import importlib
import pkgutil
from types import ModuleType
from typing import Any

from ftlab.faults.fault import Fault, Healthy
from ftlab.records.errors import UnknownNameError

AREAS = (
    "adapter",
    "data",
    "environment",
    "gradient",
    "memory",
    "model",
    "numeric",
    "optimizer",
    "time",
)
"""The folders that hold faults."""


def modules_of(area: str) -> list[ModuleType]:
    """Import the files of one area, topic by topic, in alphabetical order."""
    package = importlib.import_module(f"ftlab.faults.{area}")
    found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    names = sorted(item.name for item in found if not item.ispkg)
    return [importlib.import_module(name) for name in names]


@functools.cache
def list_faults() -> tuple[Fault, ...]:
    """Return all faults that this machine can have, area by area.

    Examples
    --------
    >>> from ftlab.faults.registry import list_faults
    >>> "lora-b-frozen" in [fault.id for fault in list_faults()]
    True
    """
    return _possible("FAULT")


@functools.cache
def list_healthy() -> tuple[Healthy, ...]:
    """Return all healthy runs that look ill and that this machine can have."""
    return _possible("HEALTHY")


def _possible(kind: str) -> tuple[Any, ...]:
    modules = (module for area in AREAS for module in modules_of(area))
    found = (found_in(module, kind) for module in modules if hasattr(module, kind))
    return tuple(each for each in found if each.possible)


def found_in(module: ModuleType, kind: str) -> Any:
    """Return the ``FAULT`` or ``HEALTHY`` of a file, with its name and ``build``."""
    each = getattr(module, kind)
    build = getattr(module, "build", each.builder)
    name = module.__name__.rpartition(".")[2].removeprefix("healthy_")
    return dataclasses.replace(each, builder=build, id=name.replace("_", "-"))


def load(fault_id: str) -> Fault:
    """Return the fault with this id.

    Parameters
    ----------
    fault_id
        Such as ``"lora-b-frozen"``.

    Examples
    --------
    >>> from ftlab.faults.registry import load
    >>> load("lora-b-frozen").code
    'ADP001'
    >>> load("lora-b-froze")
    Traceback (most recent call last):
    ...
    ftlab.records.errors.UnknownNameError: There is no fault 'lora-b-froze'. \
Near: lora-b-frozen...
    """
    table = {fault.id: fault for fault in list_faults()}
    if fault_id in table:
        return table[fault_id]
    near = difflib.get_close_matches(str(fault_id), table, n=3, cutoff=0.5)
    words = ", ".join(near or sorted(table))
    msg = f"There is no fault {fault_id!r}. Near: {words}. list_faults() has them all."
    raise UnknownNameError(msg)
