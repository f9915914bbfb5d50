"""Sees weights and optimizer states being loaded, and state dicts being taken.

Who calls whom: PEFT's `set_peft_model_state_dict` calls the module's `load_state_dict`,
and that of a module may call those of its parts. The outermost call is told.
"""

import sys
from collections.abc import Callable, Mapping
from typing import Any

import torch

from ftlab.probes.taps.listener import Listener
from ftlab.probes.taps.nesting import Nesting
from ftlab.probes.taps.optimizer import unwrapped
from ftlab.probes.taps.rebinding import rebind_everywhere, rebind_method
from ftlab.records.handle import Handle, HandleStack

_loading = Nesting()
"""One for both ways to load, which are tapped at different times."""


def tap_loading(listener: Listener) -> Handle:
    """Tell of each load into a module or an optimizer, and each state dict taken."""
    handles = HandleStack()
    module, optimizer = torch.nn.Module, torch.optim.Optimizer
    handles.add(rebind_method(module, "load_state_dict", _load(listener)))
    handles.add(rebind_method(module, "state_dict", _take(listener)))
    handles.add(rebind_method(optimizer, "load_state_dict", _resume(listener)))
    return handles


def tap_peft_loading(listener: Listener) -> Handle:
    """Tell of what is loaded through PEFT, which puts adapters' names into the keys."""
    module = sys.modules["peft.utils.save_and_load"]

    def around(
        original: Callable[..., Any],
        model: Any,
        state: Any,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        if _loading.inside:
            return original(model, state, *args, **kwargs)
        adapter = args[0] if args else kwargs.get("adapter_name", "default")
        with _loading:
            listener.before_load(model, state, adapter)
            result = original(model, state, *args, **kwargs)
        listener.after_load(model, state, result)
        return result

    return rebind_everywhere(module.set_peft_model_state_dict, around)


def _load(listener: Listener) -> Callable[..., Any]:
    def around(
        original: Callable[..., Any], module: Any, *args: Any, **kwargs: Any
    ) -> Any:
        state = args[0] if args else kwargs.get("state_dict")
        if _loading.inside or not isinstance(state, Mapping):
            return original(module, *args, **kwargs)
        with _loading:
            listener.before_load(module, state, None)
            result = original(module, *args, **kwargs)
        listener.after_load(module, state, result)
        return result

    return around


def _take(listener: Listener) -> Callable[..., Any]:
    taking = Nesting()

    def around(
        original: Callable[..., Any], module: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if taking.inside:
            return original(module, *args, **kwargs)
        with taking:
            result = original(module, *args, **kwargs)
        listener.after_state_dict(module, result)
        return result

    return around


def _resume(listener: Listener) -> Callable[..., Any]:
    resuming = Nesting()

    def around(
        original: Callable[..., Any], optimizer: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if resuming.inside or unwrapped(optimizer) is not optimizer:
            return original(optimizer, *args, **kwargs)
        with resuming:
            result = original(optimizer, *args, **kwargs)
        listener.after_optimizer_load(optimizer)
        return result

    return around
