"""Sees the model's own forward calls, through an official pre-hook."""

import contextlib
import inspect
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from ftlab.probes.dynamo_private import (
    leave_hooks_to_python,
    leave_to_python,
)
from ftlab.probes.taps.listener import Listener
from ftlab.probes.taps.nesting import Nesting
from ftlab.probes.taps.rebinding import rebind_method, stand_in
from ftlab.probes.torch_private import (
    has_values,
    scripting,
)
from ftlab.records.handle import Handle, HandleStack, rebind

_WRAPPERS = {
    "OptimizedModule": "_orig_mod",
    "DistributedDataParallel": "module",
    "FullyShardedDataParallel": "_fsdp_wrapped_module",
}


def innermost(model: torch.nn.Module) -> torch.nn.Module:
    """Return the module within ``torch.compile``, DDP and FSDP wrappers.

    Every call of a wrapper ends in it, and calls that pass the wrapper by are seen too.
    """
    while (inside := _WRAPPERS.get(type(model).__name__)) is not None:
        model = getattr(model, inside)
    return model


def tap_forward(listener: Listener, model: torch.nn.Module) -> Handle:
    """Tell of each call of ``model`` and its inputs, by parameter name."""
    inner = innermost(model)
    hook = ForwardHook(listener, inner)
    if isinstance(inner, torch.nn.TransformerEncoderLayer):
        return _around_forward(hook)
    leave_hooks_to_python()
    tap = _HookHandle(inner, hook)
    handles = HandleStack()
    handles.add(tap)
    handles.add(rebind(scripting, "create_script_module", _without(tap)))
    return handles


def _around_forward(hook: "ForwardHook") -> Handle:
    """Stand in for the method: with a hook on it, this layer computes in another way.

    The last bits of what it puts out in eval mode would change.
    """
    nesting = Nesting()

    def around(original: Any, module: Any, *args: Any, **kwargs: Any) -> Any:
        if nesting.inside:
            return original(module, *args, **kwargs)
        with nesting:
            hook(module, args, kwargs)
            return original(module, *args, **kwargs)

    return rebind_method(torch.nn.TransformerEncoderLayer, "forward", around)


class _HookHandle:
    """A forward pre-hook that can be off for a while."""

    def __init__(self, module: torch.nn.Module, hook: "ForwardHook") -> None:
        self._module = weakref.ref(module)
        self._hook = hook
        self._attached = True
        self._put_on()

    @contextlib.contextmanager
    def off(self) -> Iterator[None]:
        """Take the hook off for the length of the block."""
        self._handle.remove()
        try:
            yield
        finally:
            self._put_on()

    def remove(self) -> None:
        """Take the hook off for good."""
        self._attached = False
        self._handle.remove()

    def _put_on(self) -> None:
        module = self._module()
        if module is not None and self._attached:
            on = module.register_forward_pre_hook(self._hook, with_kwargs=True)
            self._handle = on


def _without(tap: _HookHandle) -> Callable[..., Any]:
    """Take the hook off while torch makes a script: it would be compiled too."""

    def around(original: Any, *args: Any, **kwargs: Any) -> Any:
        with tap.off():
            return original(*args, **kwargs)

    return stand_in(scripting.create_script_module, around)


class ForwardHook:
    """The hook; a pickled or copied one does nothing, and needs no ftlab to load."""

    def __init__(self, listener: Listener, model: torch.nn.Module) -> None:
        self._listener = listener
        self._model_id = id(model)
        self._names = _argument_names(model)

    def __call__(
        self, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Tell the listener, except within a traced graph or for a replica."""
        if torch.compiler.is_compiling() or id(module) != self._model_id:
            return
        graph = torch.is_grad_enabled()
        inputs: Mapping[str, Any] = kwargs
        if args:
            inputs = dict(zip(self._names, args, strict=False)) | kwargs
        if _has_values(inputs):
            self._listener.on_forward(module, inputs, graph)

    def __reduce__(self) -> tuple[Any, ...]:
        return (getattr, (contextlib.nullcontext(), "__exit__"))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return contextlib.nullcontext().__exit__


leave_to_python(ForwardHook.__call__)


def _has_values(inputs: Mapping[str, Any]) -> bool:
    """Tell whether no tensor of a batch is a shape only."""
    return all(
        has_values(each)
        if isinstance(each, torch.Tensor)
        else not isinstance(each, Mapping) or _has_values(each)
        for each in inputs.values()
    )


leave_to_python(_has_values)


def _argument_names(model: torch.nn.Module) -> tuple[str, ...]:
    try:
        parameters = inspect.signature(model.forward).parameters.values()
    except (TypeError, ValueError):
        return ()
    return tuple(
        each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD
    )
