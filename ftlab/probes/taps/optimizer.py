"""Sees optimizer steps and cleared gradients.

Steps are seen through torch's global optimizer hooks: they are not stored in any
optimizer, so nothing of ours gets into a copy or checkpoint of one, and optimizers that
appear later are seen as well.
"""

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from ftlab.probes.dynamo_private import leave_to_python
from ftlab.probes.taps.listener import Listener
from ftlab.probes.taps.nesting import Nesting
from ftlab.probes.taps.rebinding import rebind_method
from ftlab.records.handle import Handle, HandleStack


def unwrapped(optimizer: Any) -> Any:
    """Return the optimizer within accelerate's wrapper, or ``optimizer`` itself."""
    inside = vars(optimizer).get("optimizer")
    while isinstance(inside, torch.optim.Optimizer):
        optimizer, inside = inside, vars(inside).get("optimizer")
    return optimizer


def tap_optimizer_step(listener: Listener) -> Handle:
    """Tell before and after each optimizer step of the process."""

    def before(optimizer: Any, args: Any, kwargs: Any) -> None:
        if _is_told(optimizer):
            # torch passes the optimizer itself as the first positional argument
            closure = args[1] if len(args) > 1 else kwargs.get("closure")
            listener.before_step(optimizer, closure is not None)

    def after(optimizer: Any, *_: Any) -> None:
        if _is_told(optimizer):
            listener.after_step(optimizer)

    leave_to_python(before)
    leave_to_python(after)
    leave_to_python(_is_told)
    leave_to_python(unwrapped)
    handles = HandleStack()
    handles.add(register_optimizer_step_pre_hook(before))
    handles.add(register_optimizer_step_post_hook(after))
    return handles


def _is_told(optimizer: Any) -> bool:
    return not torch.compiler.is_compiling() and unwrapped(optimizer) is optimizer


def tap_zero_grad(listener: Listener) -> Handle:
    """Tell of each ``zero_grad`` of an optimizer or a module, the outermost call.

    Accelerate's wrapper is passed over: it leaves the call out while it accumulates.
    """
    nesting = Nesting()

    def around(
        original: Callable[..., Any], owner: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if nesting.inside or unwrapped(owner) is not owner:
            return original(owner, *args, **kwargs)
        with nesting:
            result = original(owner, *args, **kwargs)
        listener.on_zero_grad(owner)
        return result

    handles = HandleStack()
    handles.add(rebind_method(torch.optim.Optimizer, "zero_grad", around))
    handles.add(rebind_method(torch.nn.Module, "zero_grad", around))
    return handles


def tap_held_step(listener: Listener) -> Handle:
    """Tell of each step that accelerate's wrapper leaves out while it accumulates."""
    module = sys.modules.get("accelerate.optimizer")
    wrapper = getattr(module, "AcceleratedOptimizer", None)
    if wrapper is None:
        return HandleStack()

    def around(
        original: Callable[..., Any], owner: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if not owner.gradient_state.sync_gradients:
            listener.on_held_step(unwrapped(owner))
        return original(owner, *args, **kwargs)

    return rebind_method(wrapper, "step", around)
