"""Hooks on the modules that users' points mean, there only while they are needed.

A forward with a graph begins and gets the hooks; its end takes them off, so that
evaluations, generation and what a checkpoint computes again run as if there were none.
Hooks that wait for a gradient stay until `PointHooks.remove`: a reentrant checkpoint
makes the graph only within backward.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from ftlab.probes.dynamo_private import is_compiled_call, leave_to_python
from ftlab.probes.graph.module_hook import HooksOfAForward, ModuleHook, ModulePreHook
from ftlab.probes.inventory import Spot
from ftlab.probes.taps.listener import shield
from ftlab.probes.torch_private import has_values, is_traced, is_within_backward
from ftlab.records import replaying
from ftlab.records.errors import FtlabWarning
from ftlab.records.handle import Handle, HandleStack

Show = Callable[[str, str, torch.Tensor], None]

MANY = 1024
"""Hooks in graphs after which those of graphs that are gone are forgotten."""


class PointHooks:
    """Puts the hooks on and tells what they see.

    Parameters
    ----------
    wanted
        Gives the modules, each with the ends that somebody wants to see.
    show
        Gets end, path and tensor; not called again from within.
    failed
        Gets an error of our own.
    """

    def __init__(
        self,
        wanted: Callable[[], Sequence[tuple[Spot, str]]],
        show: Show,
        failed: Callable[[Exception], None],
    ) -> None:
        self._wanted = wanted
        self._show = show
        self._forward, self._backward = HooksOfAForward(), HandleStack()
        self._graph: list[torch.utils.hooks.RemovableHandle] = []
        self._told = False
        self._begin = shield(self._put_on, failed)
        self._tell = {
            "pre": shield(self._before, failed),
            "post": shield(self._after, failed),
            "grad": shield(self._await_gradient, failed),
        }
        self._gradient = shield(self._see, failed)
        self._end = shield(self._end_forward, failed)

    def on_forward(
        self, module: torch.nn.Module, inputs: Mapping[str, Any], graph: bool
    ) -> None:
        """Begin, when a forward with a graph does; see `tap_forward`."""
        if graph and not (is_within_backward() or replaying.active() or is_traced()):
            self._begin(module, is_compiled_call())

    def remove(self) -> None:
        """Take all hooks off."""
        self._off_modules()
        graph, self._graph = self._graph, []
        for handle in graph:
            handle.remove()

    def _off_modules(self) -> None:
        self._forward.remove()
        self._backward.remove()

    def _put_on(self, root: torch.nn.Module, compiled: bool) -> None:
        self._off_modules()  # and not what waits in the graph of an earlier forward
        if len(self._graph) > MANY:
            self._graph = [each for each in self._graph if each.hooks_dict_ref()]
        wanted = self._wanted()
        if wanted and (compiled or any(spot.compiled for spot, _ in wanted)):
            self._warn_of_compiling(root)
        if compiled:
            return
        for spot, end in wanted:
            module = spot.hookable()
            if module is not None:
                add = self._forward.add_own if module is root else self._forward.add
                self._hook(module, spot.path, end, add)
        if self._forward:
            over = ModuleHook(self._end, root, "")
            last = root.register_forward_hook(over, always_call=True)
            self._forward.add_own(last)

    def _hook(
        self,
        module: torch.nn.Module,
        path: str,
        end: str,
        add: Callable[[Handle], None],
    ) -> None:
        tell = self._tell[end]
        if end == "pre":
            before = ModulePreHook(tell, module, path)
            on = module.register_forward_pre_hook(before, with_kwargs=True)
            add(on)
            return
        on = module.register_forward_hook(ModuleHook(tell, module, path))
        (self._backward.add if end == "grad" else add)(on)

    def _end_forward(self, path: str, output: Any) -> None:
        self._forward.end()

    def _before(self, path: str, inputs: Any) -> None:
        self._see("pre", path, first_tensor(inputs))

    def _after(self, path: str, output: Any) -> None:
        self._see("post", path, first_tensor(output))

    def _await_gradient(self, path: str, output: Any) -> None:
        tensor = first_tensor(output)
        if tensor is not None and tensor.requires_grad and not replaying.active():
            see = self._gradient
            on = tensor.register_hook(lambda gradient: see("grad", path, gradient))
            self._graph.append(on)

    def _see(self, end: str, path: str, tensor: torch.Tensor | None) -> None:
        if tensor is not None and has_values(tensor) and not replaying.active():
            self._show(end, path, tensor)

    def _warn_of_compiling(self, root: torch.nn.Module) -> None:
        if self._told:
            return
        self._told = True
        msg = (
            f"Probes on modules of {type(root).__name__} see nothing where it is "
            "compiled: what runs there is a graph, without hooks. 'batch', "
            "'gradients', 'update.*' and the gradients of parameters are seen as "
            "always; for the others, train without torch.compile."
        )
        warnings.warn(msg, FtlabWarning, stacklevel=2)


leave_to_python(PointHooks.on_forward)


def first_tensor(found: Any) -> torch.Tensor | None:
    """Return the first floating-point tensor within ``found``, or else the first.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.user.user_hooks import first_tensor
    >>> first_tensor((torch.tensor(1), {"x": torch.tensor(0.5)}))
    tensor(0.5000)
    """
    tensors = list(_tensors(found))
    floating = (each for each in tensors if each.is_floating_point())
    return next(floating, tensors[0] if tensors else None)


def _tensors(found: Any) -> Iterator[torch.Tensor]:
    if isinstance(found, torch.Tensor):
        yield found
    elif isinstance(found, Mapping):
        yield from _tensors(tuple(found.values()))
    elif isinstance(found, tuple | list):
        for each in found:
            yield from _tensors(each)
