"""Puts together where a gradient flows: traced values, the graph, and what is measured.

Who calls whom: `flow_of` runs the loss under a `FlowTrace` and measures its `Graph`.
`_Cuts` asks of each parameter without a gradient which stops its values went through;
what neither explains is tried: the parameter is moved and the loss computed again.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from ftlab.laboratory.flow.blocks import Blocks, blocks_and_edges
from ftlab.laboratory.flow.graph import Graph, Measured, measured
from ftlab.laboratory.flow.stops import FlowTrace, Stop
from ftlab.probes.naming import clean_name
from ftlab.records.flow import Flow, FlowStop, FlowZero
from ftlab.replay.capsules.rng import RngState
from ftlab.replay.tracing.modules import ModuleStack

MOVED = 1.0
"""How far a parameter that is tried is moved, in its own standard deviations (of 1
where that is 0): far, so that few bits and indices show it too."""

_PRODUCTS = "Mul Mm Bmm Addmm Mv Addmv Dot Baddbmm Linear"
PRODUCTS = tuple(f"{each}Backward" for each in _PRODUCTS.split())
"""Operations of two factors, each of which gets a gradient times the other."""


def flow_of(
    model: torch.nn.Module, loss: torch.Tensor | Callable[[], torch.Tensor]
) -> Flow:
    """Say which parameters of ``model`` a loss reaches, and what cuts off the others.

    Parameters
    ----------
    loss
        The tensor, which tells what is reached, or a function that computes it, which
        tells where the others are cut off too.
    """
    names = {
        id(each): clean_name(name)
        for name, each in model.named_parameters()
        if each.requires_grad
    }
    trained = [each for each in model.parameters() if each.requires_grad]
    if isinstance(loss, torch.Tensor):
        return _Flowing(model, loss, names, trained).flow()
    start = RngState.take()
    trace, value = _traced(model, loss)
    flowing = _Flowing(model, value, names, trained, trace)

    def again() -> float:
        start.restore()
        with torch.enable_grad():  # a loss may hold a gradient
            return float(loss().detach().double().sum())

    return flowing.flow(again)


def _traced(
    model: torch.nn.Module, loss: Callable[[], torch.Tensor]
) -> tuple[FlowTrace, torch.Tensor]:
    eagerly = torch.compiler.set_stance("force_eager")  # what is compiled, as Python
    with ModuleStack(model) as modules, eagerly, torch.enable_grad():
        trace = FlowTrace(modules, model.parameters())
        with trace:
            value = loss()
    return trace, value


@dataclass
class _Flowing:
    """One loss with its graph."""

    model: torch.nn.Module
    loss: torch.Tensor
    names: Mapping[int, str]
    trained: Sequence[torch.nn.Parameter]
    trace: FlowTrace | None = None

    def flow(self, again: Callable[[], float] | None = None) -> Flow:
        """Put it together."""
        self.graph = Graph(self.loss.grad_fn, self.names)
        notes: list[str] = []
        found, failed = Measured({}, {}, frozenset(), {}), ""
        if self.loss.requires_grad and self.trained:
            try:
                found = measured(self.loss, self.graph, self.trained)
            except RuntimeError as error:
                failed = f"{type(error).__name__}: {error}"
        reached = self._reached(found, failed=bool(failed))
        zeros, empty = ([], set()) if failed else self._zeros(found)
        lost = [p for p in self.trained if id(p) not in reached]
        known = empty.union(*(whose for _, whose in zeros))
        lost = [p for p in lost if id(p) not in known]
        value = float(self.loss.detach().double().sum())
        layers = Blocks(self.model, self.trace)
        stops = _Cuts(self.graph, self.trace, self.loss, layers.names)
        trial = None if again is None else _Trial(again, value)
        cuts, sides, unused, left = stops.of(lost, trial)
        blocks, edges = blocks_and_edges(layers, self.graph, found, self.names, reached)
        if self.trace is None and lost:
            notes.append(
                "a tensor does not tell where its history was cut: pass a function "
                "that computes the loss, or the batch"
            )
        return Flow(
            value,
            len(self.trained),
            blocks,
            edges,
            cuts,
            sides,
            tuple(zero for zero, _ in zeros),
            tuple(self.names[each] for each in [*unused, *empty]),
            tuple(self.names[each] for each in left),
            failed,
            (*notes, *stops.notes),
        )

    def _reached(self, found: Measured, *, failed: bool) -> set[int]:
        if failed:
            bits = self.graph.behind(self.loss.grad_fn)
            return {id(p) for p in self.trained if bits & self.graph.bit(p)}
        return set(found.parameters)

    def _zeros(
        self, found: Measured
    ) -> tuple[list[tuple[FlowZero, set[int]]], set[int]]:
        """Return what makes gradients zero with whose, and whose got no elements."""
        makers: dict[FlowZero, tuple[FlowZero, set[int]]] = {}
        empty: set[int] = set()
        wanted = {id(p) for p in self.trained if not found.parameters.get(id(p), 0.0)}
        above = self.graph.above(found) if wanted else {}
        for leaf, edges in above.items():
            if id(leaf) not in wanted:
                continue
            whose = [edge for edge in edges if edge not in found.empty]
            if edges and not whose:
                empty.add(id(leaf))
                continue
            zeros = [
                self._zero(node, place, found, none=(node, place) not in found.hands)
                for node, place in whose
            ]
            for zero in zeros or [FlowZero("", "", "", ())]:  # it comes, and cancels
                makers.setdefault(zero, (zero, set()))[1].add(id(leaf))
        told = [
            (replace(zero, parameters=tuple(self.names[i] for i in whose)), whose)
            for zero, whose in makers.values()
        ]
        return told, empty

    def _zero(self, node: Any, place: int, found: Measured, *, none: bool) -> FlowZero:
        made = None if self.trace is None else self.trace.made.get(node)
        zeros = "" if none else self._still_zero(node, place, found)
        op = type(node).__name__ if made is None else made.op
        line, module = ("", "") if made is None else (made.line, made.module)
        return FlowZero(op, line, module, (), zeros, none)

    def _still_zero(self, node: Any, place: int, found: Measured) -> str:
        """Name the trained weight behind the other factor of a product, if it learns.

        What is multiplied with zeros gets none; where the zeros get a gradient of their
        own, they are zero for now.
        """
        product = type(node).__name__
        if not product.startswith(PRODUCTS):
            return ""
        first = (
            len(node.next_functions) - 2
        )  # before the factors there is what is added
        for at, (end, _) in enumerate(node.next_functions):
            if at in (place, first - 1) or end is None:
                continue
            if found.hands.get((node, at), 0.0) > 0:
                behind = self.graph.behind(end)
                learns = (
                    each
                    for each in self.trained
                    if behind & self.graph.bit(each) and found.parameters.get(id(each))
                )
                name = next((self.names[id(each)] for each in learns), "")
                if name:
                    return name
        return ""


@dataclass
class _Trial:
    """Whether a loss depends on parameters, tried."""

    loss: Callable[[], float]
    value: float
    repeats: bool | None = None

    def depends(self, parameters: Iterable[torch.nn.Parameter]) -> bool | None:
        """Say whether the loss changes with them; ``None`` where it always does."""
        if self.repeats is None:
            self.repeats = _same(self.loss(), self.value)
        if not self.repeats:
            return None
        # not on a device that may be full
        kept = [(each, each.detach().to("cpu", copy=True)) for each in parameters]
        try:
            for at, (each, values) in enumerate(kept):
                drawn = torch.Generator().manual_seed(at)
                noise = torch.randn(values.shape, generator=drawn)
                size = values.float().std(correction=0).clamp(min=1e-3)
                each.data.add_((MOVED * size * noise).to(each.device, each.dtype))
            return not _same(self.loss(), self.value)
        finally:
            for each, values in kept:
                each.data.copy_(values)


def _same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


class _Cuts:
    """Which stops keep which parameters from a loss."""

    def __init__(
        self,
        graph: Graph,
        trace: FlowTrace | None,
        loss: torch.Tensor,
        blocks: Mapping[str, str],
    ) -> None:
        self._graph = graph
        self._blocks = blocks
        self._last = {} if trace is None else trace.of(loss)
        self._escaped = {} if trace is None else trace.escaped
        self.notes: list[str] = []
        self._own: dict[Stop, int] = {}
        self._all: dict[Stop, int] = {}

    def of(
        self,
        lost: Sequence[torch.nn.Parameter],
        trial: _Trial | None,
    ) -> tuple[tuple[FlowStop, ...], tuple[FlowStop, ...], list[int], list[int]]:
        """Return cuts, stops beside the way, unused parameters and unexplained ones."""
        bits: dict[Stop, int] = {}
        rest = [each for each in lost if not self._blame(bits, self._last, [each])]
        unused, left = [], []
        for causes, group in self._by_escape(rest):
            depends = None if trial is None else trial.depends(group)
            untried = trial is not None and depends is None and not causes
            if untried:
                self.notes.append(
                    "the loss is not the same twice: that parameters have no part in "
                    "it follows from what was seen, and was not tried"
                )
            if depends is False or untried:
                unused += [id(each) for each in group]
            elif not (depends and self._blame(bits, self._escaped, group)):
                left += [id(each) for each in group]
        beside = {
            stop: self._behind(stop)
            for stop in self._last
            if stop not in bits and stop.floats and self._behind(stop)
        }
        return self._told(bits), self._told(beside), unused, left

    def _blame(
        self,
        bits: dict[Stop, int],
        stops: Iterable[Stop],
        group: Iterable[torch.nn.Parameter],
    ) -> bool:
        """Add parameters to the stops on their ways; say whether there are any."""
        found = False
        for each in group:
            bit = self._graph.bit(each)
            causes = self._causes(bit, stops) or self._causes(bit, stops, beside=True)
            for stop in causes:
                bits[stop] = bits.get(stop, 0) | bit
                found = True
        return found

    def _by_escape(
        self, rest: Sequence[torch.nn.Parameter]
    ) -> Iterable[tuple[tuple[Stop, ...], list[torch.nn.Parameter]]]:
        """Group parameters whose values leave torch at the same places."""
        groups: dict[tuple[Stop, ...], list[torch.nn.Parameter]] = {}
        for each in rest:
            causes = tuple(self._causes(self._graph.bit(each), self._escaped))
            groups.setdefault(causes, []).append(each)
        return groups.items()

    def _causes(
        self, bit: int, stops: Iterable[Stop], *, beside: bool = False
    ) -> dict[Stop, None]:
        """Return the stops on the ways of a parameter, those nearest the loss first."""
        found: dict[Stop, None] = {}
        waiting = list(stops)
        while waiting:
            stop = waiting.pop(0)
            left_out = stop.beside and not beside
            if stop in found or left_out or not self._behind(stop) & bit:
                continue
            found[stop] = None
            if not self._directly(stop) & bit:
                waiting += stop.earlier
        return found

    def _directly(self, stop: Stop) -> int:
        """Return the parameters that reach a stop through the graph."""
        if stop not in self._own:
            bits = 0
            for node in stop.nodes:
                bits |= self._graph.behind(node)
            for leaf in stop.leaves.values():
                bits |= self._graph.bit(leaf)
            self._own[stop] = bits
        return self._own[stop]

    def _behind(self, stop: Stop) -> int:
        """Return the parameters that reach a stop, through earlier ones too."""
        waiting = [stop]
        while waiting:  # a loop may stop values a thousand times in a row
            at = waiting[-1]
            new = [each for each in at.earlier if each not in self._all]
            if at not in self._all:
                self._all[at] = self._directly(at)  # in case of a circle
            if new:
                waiting += new
                continue
            waiting.pop()
            for each in at.earlier:
                self._all[at] |= self._all[each]
        return self._all[stop]

    def _told(self, bits: Mapping[Stop, int]) -> tuple[FlowStop, ...]:
        """Tell of each line once, however often it runs."""
        found: dict[tuple[str, str], tuple[list[Stop], int]] = {}
        for stop, its in bits.items():
            key = (stop.line, stop.library_line)
            stops, before = found.get(key, ([], 0))
            found[key] = ([*stops, stop], before | its)
        return tuple(self._one(stops, its) for stops, its in found.values())

    def _one(self, stops: Sequence[Stop], bits: int) -> FlowStop:
        """Tell of one line, with what stops the values last."""
        modules = tuple(dict.fromkeys(each.module for each in stops))
        blocks = dict.fromkeys(self._blocks.get(each, "") for each in modules)
        return FlowStop(
            stops[0].kind,
            ", ".join(dict.fromkeys(each.op for each in stops[::-1])),
            stops[0].line,
            stops[0].library_line,
            modules,
            tuple(filter(None, blocks)),
            self._graph.names(bits),
        )
