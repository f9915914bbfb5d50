"""Iterators that a step reads from: what it has taken out does not come again."""

import io
from collections import UserDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ftlab.replay.capsules.inputs import KeptInputs
from ftlab.replay.capsules.outside import from_outside


def used_up(function: Callable[..., Any], inputs: KeptInputs) -> str | None:
    """Say which iterator keeps ``function`` from being called again with ``inputs``.

    Looks into the arguments, and at the variables that the function takes from outside.

    Examples
    --------
    >>> from ftlab.replay.capsules.inputs import KeptInputs
    >>> from ftlab.replay.capsules.iterators import used_up
    >>> used_up(print, KeptInputs(([1, 2],), {})) is None
    True
    >>> used_up(print, KeptInputs(({"rows": iter([1, 2])},), {}))
    "the batch's 'rows' is a list_iterator, which the step uses up: pass a list or \
tensors instead"
    """
    for place, value in _inside((*inputs.args, *inputs.kwargs.values())):
        what = f"the batch's {place!r}" if place else "the batch"
        return f"{what} is {_named(value)}: pass a list or tensors instead"
    for name, value in from_outside(function):
        if _is_iterator(value):
            return f"{name} is {_named(value)}: pass its items as batches= instead"
    return None


def _named(value: Any) -> str:
    return f"a {type(value).__name__}, which the step uses up"


def _is_iterator(value: Any) -> bool:
    # A file is one too, and steps log into files.
    return isinstance(value, Iterator) and not isinstance(value, io.IOBase)


def _inside(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    if _is_iterator(value):
        yield place, value
    elif isinstance(value, Mapping | UserDict):
        for key, item in value.items():
            yield from _inside(item, str(key))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _inside(item, place)
