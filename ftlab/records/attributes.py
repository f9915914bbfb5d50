"""The attributes of a user's module, read without running any code of theirs.

An attribute may be a property, a parametrization that draws or iterates, or something
lazy: asking for it can change the numbers of the training. `attribute_of` finds what
lies there and computes nothing.
"""

import types
from collections.abc import Mapping
from typing import Any

TABLES = ("_parameters", "_buffers", "_modules")
"""Where a module of torch keeps what is assigned to it."""

LIBRARIES = frozenset({"accelerate", "bitsandbytes", "peft", "torch", "transformers"})
"""Whose properties tell something and change nothing."""

INNER = ("_orig_mod", "base_model", "model", "original_module")
"""The module to which a wrapper of a library hands on what it does not have."""

_METHODS = (types.FunctionType, classmethod, staticmethod)
_NOTHING = object()


def attribute_of(owner: Any, name: str, default: Any = None) -> Any:
    """Return what ``owner`` holds as ``name``, without running code of the user's.

    Of a parametrized tensor that is the one that is trained; ``default`` where several
    are. What a property of the user's would compute, or their ``__getattr__`` would
    make up, is not held.

    Examples
    --------
    >>> from ftlab.records.attributes import attribute_of
    >>> class Layer:
    ...     dim = 4
    ...
    ...     def __init__(self):
    ...         self._parameters = {"weight": "the tensor"}
    ...
    ...     @property
    ...     def norm(self):
    ...         raise ValueError("not now")
    >>> [attribute_of(Layer(), name) for name in ("weight", "dim", "norm")]
    ['the tensor', 4, None]
    """
    own = _own(owner)
    if name in own:
        return own[name]
    for each in TABLES:
        table = own.get(each)
        if table and name in table:
            return table[name]
    computed = _table(_inside(owner, "parametrizations"), "_modules")
    if name in computed:
        return attribute_of(computed[name], "original", default)
    for kind in type(owner).__mro__:
        if name in vars(kind):
            return _of_class(kind, owner, name, default)
    return _of_inner(owner, name, default)


def has_attribute(owner: Any, name: str) -> bool:
    """Tell whether `attribute_of` finds anything, be it ``None``."""
    return attribute_of(owner, name, _NOTHING) is not _NOTHING


def _own(owner: Any) -> Mapping[str, Any]:
    found: Mapping[str, Any] = getattr(owner, "__dict__", {})
    return found


def _table(owner: Any, name: str) -> Any:
    return _own(owner).get(name) or {}


def _inside(owner: Any, name: str) -> Any:
    modules = _table(owner, "_modules")  # that of a script has no `get`
    return modules[name] if name in modules else None  # noqa: SIM401


def _is_library(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in LIBRARIES


def _of_class(kind: type, owner: Any, name: str, default: Any) -> Any:
    found = vars(kind)[name]
    if not hasattr(type(found), "__get__"):
        return found
    if not isinstance(found, _METHODS) and not _is_library(kind):
        return default
    try:
        return found.__get__(owner, type(owner))
    except AttributeError:
        return default


def _of_inner(owner: Any, name: str, default: Any) -> Any:
    """Follow a library's wrapper, as its own ``__getattr__`` would."""
    kinds = [kind for kind in type(owner).__mro__ if "__getattr__" in vars(kind)]
    if len(kinds) < 2 or not _is_library(kinds[0]):  # the last is torch's own
        return default
    found = (_inside(owner, key) for key in INNER)
    inner = next((each for each in found if each is not None), None)
    return default if inner is None else attribute_of(inner, name, default)
