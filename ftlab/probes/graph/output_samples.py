"""Some elements of what a model's last parts put out, and who called them.

Who calls whom: `ftlab.probes.graph.reference_passes` puts the hooks on for a step and
takes the samples that they have left here.
"""

import weakref
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch

from ftlab.probes.adapter.adapter_tree import adapted_layers, holders
from ftlab.probes.dynamo_private import leave_to_python
from ftlab.probes.graph.flow_calls import floats_in
from ftlab.probes.graph.module_hook import ModuleHook, is_no_training
from ftlab.probes.inventory import hookable_modules
from ftlab.probes.taps.forward import innermost
from ftlab.probes.taps.rebinding import stand_in
from ftlab.probes.torch_private import is_within_backward, scripting
from ftlab.records.attributes import attribute_of
from ftlab.records.handle import HandleStack, rebind

Caller = Literal["model", "copy", "base", "part"]
"""Through what a part was run: the model, a shallow copy of it, what a PeftModel is
around, or something else that holds it."""

KEPT = 64
"""Samples that are kept of one step at most: generating text takes many passes."""

ACROSS, LAST = 8, 64
"""Elements of a sample in each dimension, about, and in the last one."""


_CHANGED = torch.nn.TransformerEncoderLayer
"""Computes in another way in evaluation mode while a hook is on it, or in it."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One output of a part.

    Attributes
    ----------
    path
        The part.
    graph
        Whether the output has a graph.
    state
        Of one adapter layer, whether it is off and what is active; ``None`` without.
    """

    path: str
    caller: Caller
    graph: bool
    state: tuple[Any, ...] | None
    shape: tuple[int, ...]
    dtype: torch.dtype
    values: torch.Tensor


class OutputSamples:
    """Gathers samples of one model's outputs while its hooks are on.

    Parameters
    ----------
    model
        The watched model.

    Attributes
    ----------
    error
        What went wrong in a hook, if something did: it must not be raised there.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        self.samples: deque[Sample] = deque(maxlen=KEPT)
        self.error: Exception | None = None
        self._hooks = HandleStack()
        self._calls: list[Caller] = []
        layer = next(iter(adapted_layers(model)), None)
        self._layer = None if layer is None else weakref.ref(layer.module)
        holder = next(iter(holders(model)), None)
        wrapped = holder is not None and not holder.path and bool(holder.root_path)
        self._outside: Caller = "base" if wrapped else "part"
        self._put_on(model)

    def remove(self) -> None:
        """Take the hooks off."""
        self._hooks.remove()

    def _put_on(self, model: torch.nn.Module) -> None:
        root, add = innermost(model), self._hooks.add
        known = {id(module): path for path, module in hookable_modules(model)}
        if id(root) not in known or isinstance(root, _CHANGED):
            return
        around = _AnyModuleHook(self._enter, root, "")
        add(root.register_forward_pre_hook(around))
        after = _AnyModuleHook(self._leave, root, "")
        add(root.register_forward_hook(after, always_call=True))
        for part in _last_parts(root):
            if id(part) in known and part is not root:
                hook = ModuleHook(self.see, part, known[id(part)])
                add(part.register_forward_hook(hook))
        # A script would be made with the hooks in it.
        add(rebind(scripting, "create_script_module", self._off_while_scripting()))

    def _off_while_scripting(self) -> Callable[..., Any]:
        def around(original: Any, *args: Any, **kwargs: Any) -> Any:
            self.remove()
            return original(*args, **kwargs)

        return stand_in(scripting.create_script_module, around)

    def _enter(self, _: str, own: bool) -> None:
        self._calls.append("model" if own else "copy")

    def _leave(self, _: str, own: bool) -> None:
        if self._calls:
            self._calls.pop()

    def see(self, path: str, output: Any) -> None:
        """Keep some elements of an output."""
        caller = self._calls[-1] if self._calls else self._outside
        # In backward a checkpoint computes again.
        if caller == "part" or self.error is not None or is_within_backward():
            return
        try:
            self._keep(path, caller, next(iter(floats_in(output)), None))
        except Exception as error:  # noqa: BLE001  raised by the probe instead
            self.error = error

    def _keep(self, path: str, caller: Caller, found: torch.Tensor | None) -> None:
        if found is None or not found.dim():
            return
        with torch.no_grad():
            values = found.detach()[_spread(found.shape)].clone()
        shape, dtype = tuple(found.shape), found.dtype
        graph, state = found.requires_grad, self._state()
        self.samples.append(Sample(path, caller, graph, state, shape, dtype, values))

    def _state(self) -> tuple[Any, ...] | None:
        layer: Any = None if self._layer is None else self._layer()
        if layer is None:
            return None
        return (bool(layer.disable_adapters), *layer.active_adapters)


class _AnyModuleHook(ModuleHook):
    """Is called for shallow copies too, which share the model's hooks, and tells."""

    __slots__ = ()

    def __call__(self, module: torch.nn.Module, args: Any, output: Any = None) -> None:
        if torch.compiler.is_compiling() or is_no_training():
            return
        if not attribute_of(module, "_is_replica", False):
            self._tell(self._path, id(module) == self._module_id)


leave_to_python(_AnyModuleHook.__call__)
leave_to_python(OutputSamples.see)


def _last_parts(root: torch.nn.Module) -> Iterator[torch.nn.Module]:
    """Yield the parts that a model is made of, one of which runs last.

    What only wraps another module is looked into; a list of modules is its members.
    """
    parts = [root]
    while len(parts) == 1:
        within = [m for m in parts[0].children() if any(True for _ in m.parameters())]
        if not within or isinstance(parts[0], _CHANGED):
            break
        parts = within
    for part in parts:
        lists = isinstance(part, torch.nn.ModuleList | torch.nn.ModuleDict)
        for each in part.children() if lists else (part,):
            if not isinstance(each, _CHANGED):
                yield each


def _spread(shape: torch.Size) -> tuple[slice, ...]:
    """Choose some elements in every dimension; the slices are a view."""
    wanted = [ACROSS] * (len(shape) - 1) + [LAST]
    return tuple(
        slice(None, None, max(1, size // most))
        for size, most in zip(shape, wanted, strict=True)
    )
