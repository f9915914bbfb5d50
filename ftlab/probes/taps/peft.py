"""Sees what is done to adapters: merging, disabling, choosing, adding and deleting.

Who calls whom: the methods of PEFT's models call those of its tuners, and those call
every layer. The outermost call is told as one operation; layers are told one by one
besides, because a merge is measured layer by layer.
"""

import contextlib
import inspect
import sys
from collections.abc import Callable
from typing import Any

from ftlab.probes.taps.listener import Listener
from ftlab.probes.taps.loading import tap_peft_loading
from ftlab.probes.taps.nesting import Nesting
from ftlab.probes.taps.rebinding import rebind_method
from ftlab.records.handle import Handle, HandleStack

OPERATIONS = {
    "merge_adapter": "merge",
    "merge_and_unload": "unload",
    "unmerge_adapter": "unmerge",
    "unload": "unload",
    "disable_adapter_layers": "disable_adapters",
    "disable_adapters": "disable_adapters",
    "enable_adapter_layers": "enable_adapters",
    "enable_adapters": "enable_adapters",
    "set_adapter": "set_adapter",
    "add_adapter": "add_adapter",
    "load_adapter": "load_adapter",
    "delete_adapter": "delete_adapter",
    "add_weighted_adapter": "add_adapter",
}
"""What the ledger calls each of PEFT's methods."""


def is_loaded() -> bool:
    """Tell whether PEFT has been imported as far as it takes to have adapters."""
    needed = ("peft.tuners.tuners_utils", "peft.peft_model")
    return all(name in sys.modules for name in needed)


def tap_peft(listener: Listener) -> Handle:
    """Tell after each operation on adapters, whatever model it concerns."""
    outer, inner = Nesting(), Nesting()
    handles = HandleStack()
    for owner in _owners():
        for method in OPERATIONS:
            if method in _methods_of(owner):
                around = _operation(listener, method, outer)
                handles.add(rebind_method(owner, method, around))
    layer = sys.modules["peft.tuners.tuners_utils"].BaseTunerLayer
    for method, op in (("merge", "merge"), ("unmerge", "unmerge")):
        handles.add(rebind_method(layer, method, _layer(listener, op, outer, inner)))
    handles.add(tap_peft_loading(listener))
    return handles


def _owners() -> list[type]:
    """List the classes whose methods users call, most basic first."""
    names = (
        ("peft.tuners.tuners_utils", "BaseTuner"),
        ("peft.peft_model", "PeftModel"),
        ("transformers.integrations.peft", "PeftAdapterMixin"),
    )
    found = (getattr(sys.modules.get(module), name, None) for module, name in names)
    return [owner for owner in found if isinstance(owner, type)]


def _methods_of(owner: type) -> set[str]:
    """Methods that the class has itself; a tuner's may each be in its subclasses."""
    if owner is sys.modules["peft.tuners.tuners_utils"].BaseTuner:
        return set(OPERATIONS)
    return {name for name in OPERATIONS if name in vars(owner)}


def _operation(listener: Listener, method: str, outer: Nesting) -> Callable[..., Any]:
    def around(
        original: Callable[..., Any], owner: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if outer.inside:
            return original(owner, *args, **kwargs)
        with outer:
            result = original(owner, *args, **kwargs)
        named = _adapters_in(original, (owner, *args), kwargs)
        listener.after_adapter_call(owner, method, named)
        if method == "load_adapter":
            folder = args[0] if args else kwargs.get("model_id")
            name = kwargs.get("adapter_name", args[1] if len(args) > 1 else None)
            listener.after_adapter_load(owner, folder, name)
        return result

    return around


def _layer(
    listener: Listener, op: str, outer: Nesting, inner: Nesting
) -> Callable[..., Any]:
    def around(
        original: Callable[..., Any], layer: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if inner.inside:
            return original(layer, *args, **kwargs)
        listener.before_layer_merge(layer, op)
        with inner:
            result = original(layer, *args, **kwargs)
        listener.after_layer_merge(layer, op)
        if not outer.inside:
            listener.after_adapter_call(layer, op, "")
        return result

    return around


def _adapters_in(
    method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> str:
    """Write the adapters that a call names; all of PEFT's methods name them alike."""
    given = dict(kwargs)
    with contextlib.suppress(TypeError, ValueError):  # somebody's own stands there
        given |= inspect.signature(method).bind(*args, **kwargs).arguments
    named = given.get("adapter_name", given.get("adapter_names"))
    if isinstance(named, list | tuple):
        return ",".join(map(str, named))
    return named if isinstance(named, str) else ""
