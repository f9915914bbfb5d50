"""Hooks that others have hung on a module, and forwards that they have replaced."""

from collections.abc import Iterator, Mapping
from typing import Any

from ftlab.probes.model.hook_tables import (
    MODULE_HOOKS,
    TENSOR_HOOKS,
    function_name,
    function_site,
    inner_function,
)
from ftlab.records.model_anatomy import Hook
from ftlab.records.printable import printable

OURS = "ftlab"


def hooks_on(module: Any, own: Mapping[str, Any]) -> tuple[Hook, ...]:
    """List what is hung on a module and its parameters, ftlab's own left out."""
    held = vars(module)
    found = [
        _hook(kind, hook)
        for name, kind in MODULE_HOOKS.items()
        for hook in (held.get(name) or {}).values()
    ]
    for name, kind in TENSOR_HOOKS.items():
        for of, tensor in own.items():
            hooks = getattr(tensor, name, None) or {}
            found += [_hook(f"{kind} of {of}", hook) for hook in hooks.values()]
    found += _replaced(held)
    return tuple(dict.fromkeys(each for each in found if each.by != OURS))


def _replaced(held: Mapping[str, Any]) -> Iterator[Hook]:
    """Yield what an instance's forward has been replaced with."""
    dispatched = held.get("_hf_hook")
    if dispatched is not None:
        name = type(dispatched).__name__
        yield Hook("around forward", name, "", "accelerate")
    elif "forward" in held:
        yield _hook("in place of forward", held["forward"])


def _hook(kind: str, hook: Any) -> Hook:
    inner = inner_function(hook)
    where = getattr(inner, "__module__", None) or type(inner).__module__
    return Hook(
        kind,
        printable(function_name(inner)),
        printable(function_site(inner)),
        str(where).partition(".")[0],
    )
