"""Where torch keeps hooks, and which of them are the user's and do the same."""

import functools
import itertools
import operator
import types
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from pathlib import PurePath
from typing import Any, NamedTuple

import torch

from ftlab.probes.naming import clean_name
from ftlab.probes.subject import Subject

_MODULE = {
    "_forward_pre_hooks": "forward pre-hook",
    "_forward_hooks": "forward hook",
    "_backward_pre_hooks": "backward pre-hook",
    "_backward_hooks": "backward hook",
}
_TENSOR = {
    "_backward_hooks": "gradient hook",
    "_post_accumulate_grad_hooks": "post-accumulate hook",
}
_GLOBAL = {f"_global{name}": f"global {kind}" for name, kind in _MODULE.items()}
_OPTIMIZER = {
    "_optimizer_step_pre_hooks": "step pre-hook",
    "_optimizer_step_post_hooks": "step post-hook",
}

_LIBRARIES = (
    "ftlab.probes.",
    "ftlab.replay.",
    "ftlab.session.",
    "torch.",
    "transformers.",
    "peft.",
    "accelerate.",
    "trl.",
    "bitsandbytes.",
)
"""Whose hooks are none of the user's."""

_SETTERS = frozenset({"requires_grad_", "requires_grad"})
"""What a hook that names one of these does, it may do many times."""

DEPTH = 3
"""Functions within functions that are looked into."""

LATEST = 64
"""Hooks of one function that are compared."""

ITEMS = 64
"""Items of a list or a dict in which texts are looked for."""


class Table(NamedTuple):
    """The hooks of one kind on one object; ``place`` is the kind of place that it is.

    Attributes
    ----------
    owner
        The object: a module, a parameter, an optimizer; ``None`` for all modules.
    """

    owner: Any
    place: str
    kind: str
    hooks: Mapping[int, Any]


class Pile(NamedTuple):
    """Several hooks of one function on one object.

    Attributes
    ----------
    function, at
        What the function is called, and the file and line where it begins.
    hooks
        How many there are.
    alike
        How many of them hold the same and so do the same.
    """

    owner: str
    place: str
    kind: str
    function: str
    at: str
    hooks: int
    alike: int


def hooks_on(module: torch.nn.Module) -> Iterator[tuple[str, str, str, str]]:
    """Yield kind, name, place and package of each hook on a module and its tensors."""
    held, tensors = vars(module), vars(module)["_parameters"]
    tables = [(kind, held.get(name)) for name, kind in _MODULE.items()]
    for name, kind in _TENSOR.items():
        tables += [
            (f"{kind} of {e}", getattr(t, name, None)) for e, t in tensors.items()
        ]
    if "forward" in held:
        tables.append(
            ("in place of forward", {0: held.get("_hf_hook", held["forward"])})
        )
    for kind, hooks in tables:
        for hook in (hooks or {}).values():
            inner = _innermost(hook)
            where = str(getattr(inner, "__module__", None) or type(inner).__module__)
            yield kind, _name(inner), _site(inner), where.partition(".")[0]


def piles(subject: Subject) -> list[Pile]:
    """List the user's functions that are on one object several times."""
    found = [(t, hooks) for t in tables(subject) for hooks in _of_one_function(t)]
    names = _names(subject) if found else {}
    return [_pile(names.get(id(t.owner), ""), t, hooks) for t, hooks in found]


def tables(subject: Subject) -> Iterator[Table]:
    """Yield where several hooks are on one of a subject's objects, or on all modules.

    It walks the model without making names: healthy models have no such place.
    """
    waiting: list[torch.nn.Module | None] = [subject.model]
    seen = set[int]()
    while waiting:
        module = waiting.pop()
        if module is None or id(module) in seen:
            continue
        seen.add(id(module))
        own = vars(module)
        if any(map(own.get, _MODULE)):
            yield from _crowded(module, "module", _MODULE, own)
        for parameter in own.get("_parameters", {}).values():
            here = (None,) if parameter is None else _on_tensor(parameter)
            if any(here):
                held = dict(zip(_TENSOR, here, strict=True))
                yield from _crowded(parameter, "param", _TENSOR, held)
        waiting.extend(own.get("_modules", {}).values())
    for optimizer in subject.optimizers:
        held = getattr(optimizer, "__dict__", {})
        yield from _crowded(optimizer, "optimizer", _OPTIMIZER, held)
    yield from _crowded(None, "object", _GLOBAL, vars(torch.nn.modules.module))


_on_tensor = operator.attrgetter(*_TENSOR)


def _crowded(
    owner: Any, place: str, kinds: Mapping[str, str], held: Mapping[str, Any]
) -> Iterator[Table]:
    for name, kind in kinds.items():
        hooks = held.get(name)
        if hooks and len(hooks) > 1:
            yield Table(owner, place, kind, hooks)


def _of_one_function(table: Table) -> list[list[Any]]:
    """Part the user's hooks by their code."""
    groups: dict[Hashable, list[Any]] = {}
    for hook in tuple(table.hooks.values()):
        groups.setdefault(_code(_innermost(hook)), []).append(hook)
    several = (hooks for hooks in groups.values() if len(hooks) > 1)
    return [hooks for hooks in several if _is_users(_innermost(hooks[0]))]


def _pile(owner: str, table: Table, hooks: list[Any]) -> Pile:
    inner = _innermost(hooks[0])
    alike = 1 if _may_repeat(inner) else _alike(hooks)
    name, at = _name(inner), _site(inner)
    return Pile(owner, table.place, table.kind, name, at, len(hooks), alike)


def _alike(hooks: list[Any]) -> int:
    """Count the largest part that does the same, among the latest ones."""
    latest = Counter(map(likeness, hooks[-LATEST:]))
    most = latest.most_common(1)[0][1]
    return len(hooks) if most == LATEST else most


def _names(subject: Subject) -> dict[int, str]:
    model, everywhere = subject.model, {id(None): "torch.nn.Module"}
    modules = {id(m): clean_name(path) or "model" for path, m in model.named_modules()}
    parameters = {id(p): clean_name(name) for name, p in model.named_parameters()}
    numbers = {id(o): f"optimizer {n}" for n, o in enumerate(subject.optimizers)}
    return everywhere | modules | parameters | numbers


def likeness(hook: Any, depth: int = DEPTH) -> Hashable:
    """Give a value that is the same for hooks that do the same.

    They have the same code, and hold the same objects or equal numbers and texts. A
    list or dict of their own is taken for a place to store in. It holds as long as the
    hooks live.

    Examples
    --------
    >>> from ftlab.probes.model.hook_tables import likeness
    >>> def scaled(factor):
    ...     return lambda gradient: gradient * factor
    >>> one, same, other = map(likeness, (scaled(2), scaled(2), scaled(3)))
    >>> one == same, one == other
    (True, False)
    """
    content = functools.partial(_content, depth=depth - 1)
    if isinstance(hook, functools.partial):
        named = tuple(sorted((name, content(v)) for name, v in hook.keywords.items()))
        return likeness(hook.func, depth), tuple(map(content, hook.args)), named
    owner = getattr(hook, "__self__", None)
    if isinstance(hook, types.MethodType):
        return likeness(hook.__func__, depth), id(owner)
    if isinstance(hook, types.BuiltinFunctionType):
        return hook.__name__, content(owner)
    if not isinstance(hook, types.FunctionType):
        return type(hook), id(hook)
    held = tuple(map(_in_cell, hook.__closure__ or ()))
    defaults = (*(hook.__defaults__ or ()), *(hook.__kwdefaults__ or {}).values())
    return hook.__code__, tuple(map(content, (*held, *defaults)))


def _content(value: Any, depth: int) -> Hashable:
    if value is None or isinstance(value, str | int | float):
        return type(value), value
    if type(value) in (list, dict):
        items = value.values() if type(value) is dict else value
        some = itertools.islice(items, ITEMS)
        return type(value), tuple(each for each in some if isinstance(each, str))
    if depth and isinstance(value, types.FunctionType | types.MethodType):
        return likeness(value, depth)
    return id(value)


def _in_cell(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it has not got a value yet
        return None


def _innermost(hook: Any) -> Any:
    """Return the function of a hook, or the object that is called."""
    while True:
        if isinstance(hook, functools.partial):
            hook = hook.func
        elif isinstance(hook, types.MethodType):
            hook = hook.__func__
        else:
            return hook


def _code(inner: Any) -> Hashable:
    if isinstance(inner, types.FunctionType):
        return inner.__code__
    if isinstance(inner, types.BuiltinFunctionType):
        return inner.__name__
    return id(type(inner))


def _source(inner: Any) -> types.CodeType | None:
    found = getattr(inner, "__code__", None)
    if found is None:  # an object that is called
        found = getattr(vars(type(inner)).get("__call__"), "__code__", None)
    return found if isinstance(found, types.CodeType) else None


def _is_users(inner: Any) -> bool:
    where = getattr(inner, "__module__", None) or type(inner).__module__
    return not str(where).startswith(_LIBRARIES)


def _may_repeat(inner: Any) -> bool:
    source = _source(inner)
    return source is not None and bool(_SETTERS.intersection(source.co_names))


def _name(inner: Any) -> str:
    name = getattr(inner, "__qualname__", None) or type(inner).__qualname__
    return str(name).rpartition("<locals>.")[2]


def _site(inner: Any) -> str:
    source = _source(inner)
    if source is None:
        return ""
    return f"{PurePath(source.co_filename).name}:{source.co_firstlineno}"
