"""Tensors that got the gradients in place of the model's own parameters.

Who calls whom: `ftlab.probes.graph.step_calls` tells `StandIns` of each call of a
module, and asks it when backward is over.
"""

import contextlib
import functools
import types
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch

from ftlab.probes.dynamo_private import uncompiled
from ftlab.records.attributes import attribute_of

WRAPPERS = 16
"""Functions around a forward that are looked through."""

_RUN = (torch.nn.Module, types.FunctionType, types.MethodType, functools.partial)
"""What a function may find outside of itself in order to run it."""


class StandIns:
    """Finds leaves that were in the place of a parameter while the model ran.

    Parameters
    ----------
    modules
        All modules that have hooks, by path; the model may be running already.
    trainable
        The trainable parameters by name, as they are outside of the forward.
    """

    def __init__(
        self,
        modules: Mapping[str, torch.nn.Module],
        trainable: Iterable[tuple[str, torch.nn.Parameter]],
    ) -> None:
        self._modules = modules
        self._own = dict(_parameters(modules))
        self._own.update((name, weakref.ref(each)) for name, each in trainable)
        self._met: dict[str, torch.Tensor] = {}
        self._seen: set[str] = set()

    def see(self, path: str) -> None:
        """Look at a module that is called; of several forwards the latest counts."""
        if not path:
            self._seen.clear()
        if path in self._seen:
            return
        self._seen.add(path)
        module = self._modules.get(path)
        held = {} if module is None else vars(module)["_parameters"]
        for last, now in held.items():
            if now is None:
                continue
            name = f"{path}.{last}" if path else last
            own = self._own.get(name)
            new = own is None or own() is not now
            if new and now.requires_grad and now.grad_fn is None:
                self._met[name] = now

    def copies(self) -> set[str]:
        """Name the parameters that are back, while what stood in got a gradient."""
        return {name for name in self._rewarded() if not self._stays(name)}

    def made_anew(self) -> set[str]:
        """Name those that the forward replaced for good, and that got a gradient."""
        return {name for name in self._rewarded() if self._stays(name)}

    def forget(self) -> None:
        """Let go of what was met."""
        self._met = {}

    def _rewarded(self) -> list[str]:
        return [name for name, each in self._met.items() if each.grad is not None]

    def _stays(self, name: str) -> bool:
        path, _, last = name.rpartition(".")
        return attribute_of(self._modules[path], last) is self._met[name]


def runs_forward_of(module: torch.nn.Module | None) -> torch.nn.Module | None:
    """Return the other module whose forward an instance was given, if it trains.

    A copy of a model whose ``forward`` was set on the instance may still run that of
    the original; the gradients are then there.
    """
    function = None if module is None else vars(module).get("forward")
    owners = list(modules_behind(function))
    if any(owner is module for owner in owners):
        return None
    return next((each for each in owners if _trains(each)), None)


def modules_behind(function: Any) -> Iterator[torch.nn.Module]:
    """Yield what a function, or one that it was put around, is bound to.

    It goes through wrappers, partials, and what a function finds outside of itself.
    """
    waiting, looked = [function], 0
    while waiting and looked < WRAPPERS:
        each, looked = waiting.pop(0), looked + 1
        owner = getattr(each, "__self__", each)
        if isinstance(owner, torch.nn.Module):
            yield owner
        else:
            waiting += _within(each)


def _within(function: Any) -> list[Any]:
    if isinstance(function, functools.partial):
        return [function.func, *function.args]
    if not isinstance(function, types.FunctionType):
        return []
    inside = uncompiled(function)
    if inside is not None:
        return [inside]
    used = [
        *_cells(function),
        *map(function.__globals__.get, function.__code__.co_names),
    ]
    return [each for each in used if isinstance(each, _RUN)]


def _cells(function: types.FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # empty as yet
            yield cell.cell_contents


def _trains(module: torch.nn.Module) -> bool:
    return any(each.grad is not None for each in module.parameters())


def _parameters(
    modules: Mapping[str, torch.nn.Module],
) -> Iterator[tuple[str, "weakref.ref[torch.nn.Parameter]"]]:
    for path, module in modules.items():
        for last, each in vars(module)["_parameters"].items():
            if each is not None:
                yield f"{path}.{last}" if path else last, weakref.ref(each)
