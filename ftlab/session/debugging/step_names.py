"""The variables of a loop's body where a step starts, to be put back for a replay.

Names that the body binds are kept by value: what they were bound to. Of objects that it
may change in place, lists, dictionaries, sets and plain objects, the contents are kept;
modules, optimizers and the like are the capsule's.
"""

import ast
import dis
import functools
import inspect
import textwrap
import types
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from ftlab.session.debugging.step_scope import changed

LARGE = 10_000
"""Lists of more items are not copied: only what was appended is taken off again."""

_MISSING = object()
_NOT_OURS = (
    torch.nn.Module,
    torch.Tensor,
    torch.optim.Optimizer,
    torch.optim.lr_scheduler.LRScheduler,
    torch.amp.GradScaler,
    torch.utils.data.DataLoader,
    torch.utils.data.Dataset,
    types.ModuleType,
    types.FunctionType,
    type,
)


class KeptNames:
    """Variables that ``function`` may change, as they are now.

    Parameters
    ----------
    function
        The loop's body; its variables are globals and variables of the function around.
    objects
        Names of what it may change in place.

    Examples
    --------
    >>> from ftlab.session.debugging.step_names import KeptNames
    >>> def step():
    ...     global seen
    ...     seen = seen + 1
    ...     losses.append(seen)
    >>> globals().update(seen=0, losses=[])
    >>> kept = KeptNames(step, ["losses"])
    >>> step()
    >>> kept.restore()
    >>> seen, losses
    (0, [])
    """

    def __init__(self, function: types.FunctionType, objects: Iterable[str]) -> None:
        self.variables = Variables(function)
        self._globals = function.__globals__
        names, touched = {*stored(function.__code__)}, {*objects}
        for called in _called(function):
            names |= stored(called.__code__, only_global=True)
            touched |= _changed_in(called.__code__)
        self._values = {name: self.variables.get(name) for name in sorted(names)}
        held = {id(v): v for v in map(self.variables.get, sorted(touched))}
        self._contents = [
            kept for v in held.values() for kept in _kept(v) if v is not _MISSING
        ]

    def restore(self) -> None:
        """Put names and contents back."""
        for name, value in self._values.items():
            self.variables.set(name, value)
        for kept in self._contents:
            kept()


class Variables:
    """The variables that a function takes from around itself, by name."""

    def __init__(self, function: types.FunctionType) -> None:
        self._globals = function.__globals__
        names, cells = function.__code__.co_freevars, function.__closure__ or ()
        self._cells = dict(zip(names, cells, strict=True))
        self.names = sorted({*names, *_loaded(function.__code__)})

    def get(self, name: str) -> Any:
        """Return the value, or a marker where there is none."""
        cell = self._cells.get(name)
        if cell is None:
            return self._globals.get(name, _MISSING)
        try:
            return cell.cell_contents
        except ValueError:
            return _MISSING

    def set(self, name: str, value: Any) -> None:
        """Bind the name; the marker unbinds it."""
        cell = self._cells.get(name)
        if cell is None and value is _MISSING:
            self._globals.pop(name, None)
        elif cell is None:
            self._globals[name] = value
        elif value is not _MISSING:
            cell.cell_contents = value
        elif self.get(name) is not _MISSING:
            del cell.cell_contents

    def found(self) -> dict[str, Any]:
        """Return what is bound now."""
        values = ((name, self.get(name)) for name in self.names)
        return {name: value for name, value in values if value is not _MISSING}


@functools.lru_cache(maxsize=256)
def stored(code: types.CodeType, *, only_global: bool = False) -> frozenset[str]:
    """Return the names outside of itself that ``code`` binds or deletes."""
    kinds = ("GLOBAL",) if only_global else ("GLOBAL", "DEREF")
    ops = {f"{verb}_{kind}" for verb in ("STORE", "DELETE") for kind in kinds}
    own = {*code.co_cellvars}
    found = {i.argval for i in dis.get_instructions(code) if i.opname in ops}
    for inner in _nested(code):
        found |= stored(inner, only_global=only_global)
    return frozenset(found - own)


@functools.lru_cache(maxsize=256)
def _loaded(code: types.CodeType) -> frozenset[str]:
    ops = ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL")
    found = {i.argval for i in dis.get_instructions(code) if i.opname in ops}
    return frozenset(found.union(*map(_loaded, _nested(code))))


def _nested(code: types.CodeType) -> list[types.CodeType]:
    return [each for each in code.co_consts if isinstance(each, types.CodeType)]


def _called(function: types.FunctionType) -> Iterator[types.FunctionType]:
    """Yield the functions of the same namespace that ``function`` can call by name."""
    for value in Variables(function).found().values():
        if (
            isinstance(value, types.FunctionType)
            and value is not function
            and value.__globals__ is function.__globals__
        ):
            yield value


@functools.lru_cache(maxsize=256)
def _changed_in(code: types.CodeType) -> frozenset[str]:
    """Name what a function may change in place; all it reads, where no source tells."""
    tree = source_tree(code)
    if tree is None:
        return _loaded(code)
    body: list[ast.stmt] = getattr(tree.body[0], "body", [])
    return frozenset(changed(body))


def source_tree(code: types.CodeType) -> ast.Module | None:
    """Parse the source of a function; ``None`` where there is none."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    except (OSError, SyntaxError):
        return None
    return tree if isinstance(tree.body[0], ast.FunctionDef) else None


def _kept(value: Any, depth: int = 2) -> "Iterator[functools.partial[None]]":
    """Yield what puts the contents of ``value`` back."""
    inner: Iterable[Any] = ()
    if type(value) in (list, deque) or isinstance(value, dict | set | list | deque):
        yield _of_container(value)
        if len(value) <= LARGE:
            inner = value.values() if isinstance(value, dict) else value
    elif isinstance(getattr(value, "__dict__", None), dict) and not isinstance(
        value, _NOT_OURS
    ):
        held = vars(value)
        yield functools.partial(_put_attributes, held, dict(held))
        inner = held.values()
    if depth:
        for item in list(inner):
            if isinstance(item, list | dict | set | deque):
                yield from _kept(item, depth - 1)


def _of_container(live: Any) -> "functools.partial[None]":
    if isinstance(live, list | deque) and len(live) > LARGE:
        return functools.partial(_cut, live, len(live))
    return functools.partial(_refill, live, live.copy())


def _refill(live: Any, before: Any) -> None:
    if isinstance(live, list):
        live[:] = before
        return
    live.clear()
    if isinstance(live, deque):
        live.extend(before)
    else:
        # Not the object's own update: a Counter's would add.
        (dict if isinstance(live, dict) else set).update(live, before)


def _cut(live: Any, length: int) -> None:
    while len(live) > length:
        live.pop()


def _put_attributes(live: dict[str, Any], before: dict[str, Any]) -> None:
    for name in [name for name in live if name not in before]:
        del live[name]
    for name, value in before.items():
        if live.get(name, _MISSING) is not value:
            live[name] = value
