"""Dropouts whose mode is a constant in a traced graph, against the mode of the module.

`torch.jit.trace` and `torch.fx` write down what ran, and whether a dropout dropped is
one of the constants. ``train()`` and ``eval()`` set the module's ``training`` as usual,
and the graph does not look at it.
"""

import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.graph.module_hook import ModulePreHook, off_while_scripting
from ftlab.probes.naming import clean_name
from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.schedule import every
from ftlab.probes.subject import Subject
from ftlab.probes.taps.forward import innermost
from ftlab.records.handle import Handle, HandleStack
from ftlab.records.step import Block, Column

KINDS = ("dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout")
"""Operations that take a chance, and whether to drop, as their last two inputs."""


class Fixed(NamedTuple):
    """A module with a graph in which dropouts are off, or on, for good.

    Attributes
    ----------
    path
        Clean path in the model.
    off, on
        How many dropouts above 0 are; ``on`` counts those of dropout modules alone: a
        function may have been told to drop in both modes.
    p
        The largest chance among them.
    """

    path: str
    module: "weakref.ref[torch.nn.Module]"
    off: int
    on: int
    p: float


class TracedModes(Probe):
    """Count dropouts that do not follow the mode of a module that is called.

    Parameters
    ----------
    interval
        Steps between two walks over the model, in which traced modules are looked for.
    """

    light = False
    table: ClassVar[str] = "traced"
    columns: ClassVar[Sequence[Column]] = (
        Column("fixed_off", "1", "Dropouts that are off in training mode."),
        Column("fixed_on", "1", "Dropouts that are on in evaluation mode."),
    )

    def __init__(self, interval: int = 16) -> None:
        self._due = every(interval)
        self._hooks = HandleStack()
        self._known: dict[int, Fixed] = {}
        self._deaf: set[int] = set()
        self._walked = -1
        self._trained: set[int] = set()
        self._evaluated: set[int] = set()

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Look for traced modules."""
        yield self
        self._known = {}
        self._walk(subject.model)

    def remove(self) -> None:
        """Take the hooks off."""
        self._hooks.remove()

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Look for new ones, and at the mode of those that take no hook."""
        if self._due(moment.step) and moment.step != self._walked:
            self._walked = moment.step
            self._walk(moment.subject.model)
        self._trained |= {key for key in self._deaf if self._is_training(key)}
        return ()

    def before_update(self, moment: Moment) -> Iterable[Reading]:
        """Tell of those that were trained, or evaluated, since the last update."""
        for key in self._trained:
            module = self._known[key].module()
            if module is not None and _has_gradients(module):
                yield self._reading(moment, self._known[key], "fixed_off")
        yield from self.on_handover(moment)
        self._trained, self._evaluated = set(), set()

    def on_handover(self, moment: Moment) -> Iterable[Reading]:
        """Tell of those that were evaluated."""
        for key in self._evaluated:
            yield self._reading(moment, self._known[key], "fixed_on")

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Tell that there are traced modules."""
        return {"traced_modules": float(len(self._known))} if self._known else {}

    def _walk(self, model: torch.nn.Module) -> None:
        for path, module in traced_modules(innermost(model)):
            key = id(module)
            if key in self._known and self._known[key].module() is module:
                continue
            fixed = self._known[key] = _read(path, module)
            if fixed.off or fixed.on:
                self._listen(key, module)

    def _listen(self, key: int, module: torch.nn.Module) -> None:
        self._deaf.discard(key)
        if not len(self._hooks):
            self._hooks.add(off_while_scripting(self._hooks))
        hook = ModulePreHook(self._hear, module, str(key))
        try:
            self._hooks.add(module.register_forward_pre_hook(hook, with_kwargs=True))
        except RuntimeError:  # a script, or a graph that was loaded
            self._deaf.add(key)

    def _hear(self, which: str, given: Any) -> None:
        key, graph = int(which), torch.is_grad_enabled()
        if graph == self._is_training(key):
            (self._trained if graph else self._evaluated).add(key)

    def _is_training(self, key: int) -> bool:
        module = self._known[key].module()
        return module is not None and module.training

    def _reading(self, moment: Moment, fixed: Fixed, column: str) -> Reading:
        row = moment.name(self.table, fixed.path, "module", {"p": fixed.p})
        count = float(fixed.off if column == "fixed_off" else fixed.on)

        def finish(_: NDArray[np.float32]) -> Iterable[Block]:
            if not count:
                return
            values = {column: np.array([count], np.float32)}
            yield Block(self.table, moment.step, np.array([row], np.int32), values)

        return Reading(torch.zeros(0), finish)


def traced_modules(model: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Module]]:
    """Yield the outermost modules that run a graph, with their paths."""
    waiting = [("", model)]
    while waiting:
        path, module = waiting.pop()
        if isinstance(module, torch.jit.ScriptModule):
            yield path, module
            continue
        if isinstance(module, torch.fx.GraphModule):
            yield path, module
        children = module.named_children()
        waiting += [(f"{path}.{n}" if path else n, child) for n, child in children]


def _read(path: str, module: Any) -> Fixed:
    if isinstance(module, torch.fx.GraphModule):
        found = [(p, on, False) for p, on in _in_graph(module.graph)]
    else:
        found = list(_in_script(module))
    above = [each for each in found if each[0] > 0]
    return Fixed(
        clean_name(path) or "model",
        weakref.ref(module),
        sum(not on for _, on, _ in above),
        sum(on and of_module for _, on, of_module in above),
        max((p for p, _, _ in above), default=0.0),
    )


def _in_script(module: Any) -> Iterator[tuple[float, bool, bool]]:
    """Yield chance, mode and whether a dropout module is behind it, of constants."""
    graph = module.inlined_graph
    for kind in (f"aten::{kind}{end}" for kind in KINDS for end in ("", "_")):
        for node in graph.findAllNodes(kind):
            p, on = (each.toIValue() for each in list(node.inputs())[1:3])
            if isinstance(p, float) and isinstance(on, bool):
                yield p, on, _is_of_dropout(module, node.scopeName())


def _is_of_dropout(module: torch.nn.Module, scope: str) -> bool:
    """Tell whether an operation came from a module such as ``Dropout``."""
    path = scope.rpartition("/")[2].removeprefix("__module").removeprefix(".")
    inside = dict(module.named_modules()).get(path)
    return "Dropout" in str(getattr(inside, "original_name", ""))


def _in_graph(graph: torch.fx.Graph) -> Iterator[tuple[float, bool]]:
    """Yield chance and mode of the dropout functions in a graph of torch.fx.

    Operators of an exported program are others: its ``training`` says nothing.
    """
    for node in graph.nodes:
        name = str(getattr(node.target, "__name__", ""))
        if node.op == "call_function" and name.endswith("dropout"):
            given = dict(zip(("p", "training"), node.args[1:3], strict=False))
            given |= node.kwargs
            p, on = given.get("p", 0.5), given.get("training", given.get("train", True))
            if isinstance(p, float) and isinstance(on, bool):
                yield p, on


def _has_gradients(module: torch.nn.Module) -> bool:
    return any(each.grad is not None for each in module.parameters())
