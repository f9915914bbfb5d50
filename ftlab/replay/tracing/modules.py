"""Which module is running, in each thread."""

import threading
from collections.abc import Iterator
from typing import Any

import torch
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)

from ftlab.records.handle import HandleStack
from ftlab.records.printable import printable
from ftlab.replay.torch_private import hooked

_WRAPPERS = ("module.", "_orig_mod.", "_fsdp_wrapped_module.")


class ModuleStack:
    """The modules whose forward is under way, innermost last.

    torch's global module hooks see every thread; each has its own stack here, so a
    notebook that runs the model while the step waits does not disturb it.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        self._names = {m: clean_name(n) for n, m in model.named_modules()}
        # torch calls a module's own hooks behind the global ones.
        self._with_hooks = {module for module in self._names if hooked(module)}
        self._local = threading.local()
        self._handles = HandleStack()

    @property
    def innermost(self) -> tuple[str | None, str]:
        """Path and class of the innermost module, ``(None, "")`` outside of all."""
        stack = self._stack()
        return stack[-1] if stack else (None, "")

    def __enter__(self) -> "ModuleStack":
        self._handles.add(register_module_forward_pre_hook(self._enter_module))
        # always_call pops the module too when its forward raises.
        leave = register_module_forward_hook(self._leave_module, always_call=True)
        self._handles.add(leave)
        for module in self._with_hooks:
            own = module.register_forward_hook(self._pop, always_call=True)
            self._handles.add(own)
        return self

    def __exit__(self, *exception: object) -> None:
        self._handles.remove()

    def _stack(self) -> list[tuple[str, str]]:
        if not hasattr(self._local, "stack"):
            self._local.stack = []
        return self._local.stack

    def _enter_module(self, module: torch.nn.Module, args: Any) -> None:
        kind = type(module).__name__
        self._stack().append((self._names.get(module, kind), kind))

    def _leave_module(self, module: torch.nn.Module, args: Any, output: Any) -> None:
        if module not in self._with_hooks:
            self._pop(module, args, output)

    def _pop(self, module: torch.nn.Module, args: Any, output: Any) -> None:
        if self._stack():
            self._stack().pop()


def all_modules(model: torch.nn.Module) -> Iterator[torch.nn.Module]:
    """Yield ``model`` and the modules within it, each once.

    ``model.modules()`` builds the path of each; a step cannot afford that.
    """
    waiting, met = [model], set[int]()
    while waiting:
        module = waiting.pop()
        if id(module) not in met:
            met.add(id(module))
            held = vars(module).get("_modules")  # a module of torch.jit has none
            children = module.children() if held is None else held.values()
            waiting += [child for child in children if child is not None]
            yield module


def parameters_at(
    model: torch.nn.Module, path: str | None
) -> dict[str, torch.nn.Parameter]:
    """Return the parameters of the module at ``path``, named as they are within it.

    Those that are trained, by their full names, where there is no such module.

    Examples
    --------
    >>> import torch
    >>> from ftlab.replay.tracing.modules import parameters_at
    >>> model = torch.nn.Sequential(torch.nn.Linear(1, 1))
    >>> [*parameters_at(model, "0")], [*parameters_at(model, None)]
    (['weight', 'bias'], ['0.weight', '0.bias'])
    """
    within = {clean_name(name): module for name, module in model.named_modules()}
    module = None if path is None else within.get(path)
    named = (model if module is None else module).named_parameters()
    return {
        clean_name(name): parameter
        for name, parameter in named
        if module is not None or parameter.requires_grad
    }


def quantization_tensors(parameter: torch.Tensor) -> list[torch.Tensor]:
    """Return what a quantized weight is scaled with, for example by bitsandbytes."""
    found: list[torch.Tensor] = []
    waiting = [getattr(parameter, "quant_state", None)]
    while waiting:
        state = waiting.pop()
        for value in vars(state).values() if hasattr(state, "__dict__") else ():
            if isinstance(value, torch.Tensor):
                found.append(value)
            elif type(value) is type(state):  # nested: the scales have scales
                waiting.append(value)
    return found


def clean_name(name: str) -> str:
    r"""Remove what wrappers put into names, and make them printable.

    Examples
    --------
    >>> from ftlab.replay.tracing.modules import clean_name
    >>> clean_name("module._orig_mod.layers.0")
    'layers.0'
    >>> print(clean_name("head\x1b[2J"))
    head\x1b[2J
    """
    for wrapper in _WRAPPERS:
        name = name.replace(wrapper, "")
    return "" if f"{name}." in _WRAPPERS else printable(name)
