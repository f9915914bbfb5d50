"""Ways to stand in for a function or method until a handle is removed."""

import functools
import sys
import threading
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from ftlab.probes.dynamo_private import leave_to_python
from ftlab.records.handle import (
    CallbackHandle,
    Handle,
    HandleStack,
    let_go,
    rebind,
    settled,
)

Wrapper = Callable[..., Any]

_UNCOUNTED = " (importlib._bootstrap)"


class _Pass(threading.local):
    """What waits for a thread's next look through all modules, by ``id``."""

    waiting: dict[int, tuple[Any, Any]] | None = None


_pass = _Pass()


def stand_in(original: Callable[..., Any], around: Wrapper) -> Callable[..., Any]:
    """Make a function that looks like ``original`` and runs ``around``.

    ``around`` is called with ``original`` and then the arguments. While Dynamo or
    export trace, ``original`` is called directly: nothing of ours enters a graph.
    """

    @functools.wraps(original)
    def standing_in(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling():
            return original(*args, **kwargs)
        return around(original, *args, **kwargs)

    for function in (standing_in, around):
        _pass_warnings_on(function)
        leave_to_python(function)
    return standing_in


def _pass_warnings_on(function: Any) -> None:
    """Keep warnings that torch addresses to its caller from stopping at ``function``.

    They name the frame that is ``stacklevel`` frames up, and would name a frame of ours
    in place of the user's line. What Python leaves out when it counts is its own import
    system, told by its file name; since 3.12 a warning may name further files, but
    torch's do not.
    """
    code: types.CodeType = function.__code__
    if not code.co_filename.endswith(_UNCOUNTED):
        name = code.co_filename + _UNCOUNTED
        function.__code__ = code.replace(co_filename=name)


def rebind_method(owner: type, name: str, around: Wrapper) -> Handle:
    """Stand in for a method in ``owner`` and in each subclass that overrides it.

    Classes, not instances, are changed, so that objects stay picklable while attached
    and copies of them carry nothing of ours.
    """
    handles = HandleStack()
    for each in _family(owner):
        original = vars(each).get(name)
        if isinstance(original, types.FunctionType):
            handles.add(rebind(each, name, stand_in(original, around)))
    return handles


def rebind_everywhere(original: Callable[..., Any], around: Wrapper) -> Handle:
    """Stand in for a function in every loaded module that has it in its globals.

    Removing the handle looks through all modules again: a ``from x import f`` that ran
    in the meantime has copied the stand-in.
    """
    standing_in = stand_in(original, around)
    _replace(original, standing_in)

    def undo() -> None:
        let_go(standing_in, original)
        _replace(standing_in, settled(original))

    return CallbackHandle(undo)


@contextmanager
def one_pass() -> Iterator[None]:
    """Look through all modules once, at the end, for all that is replaced within.

    One look takes some 30 ms where transformers is loaded.
    """
    if _pass.waiting is not None:
        yield
        return
    _pass.waiting = {}
    try:
        yield
    finally:
        waiting, _pass.waiting = _pass.waiting, None
        if waiting:
            _replace_all(waiting)


def _family(owner: type) -> Iterator[type]:
    seen = {owner}
    queue = [owner]
    while queue:
        each = queue.pop()
        yield each
        children: list[type] = type.__subclasses__(each)
        queue.extend(child for child in children if child not in seen)
        seen.update(children)


def _replace(old: Any, new: Any) -> None:
    waiting = _pass.waiting
    if waiting is None:
        _replace_all({id(old): (old, new)})
        return
    if id(old) in waiting or any(old is put for _, put in waiting.values()):
        _replace_all(waiting)
        waiting.clear()
    waiting[id(old)] = old, new


def _replace_all(pairs: Mapping[int, tuple[Any, Any]]) -> None:
    """Put the second of each pair wherever a module's globals have the first."""
    wanted = frozenset(pairs)
    for module in tuple(sys.modules.values()):
        if isinstance(module, types.ModuleType):
            # Not vars(module): a lazy module would load itself.
            names = object.__getattribute__(module, "__dict__")
            values = tuple(names.values())
            # There are some hundred thousand names: a loop in Python takes ten times
            # as long, and comparing with == runs code of the values.
            if wanted.isdisjoint(map(id, values)):
                continue
            for name, value in tuple(names.items()):
                if id(value) in wanted:
                    names[name] = pairs[id(value)][1]
