"""The graph of a loss, collapsed to the blocks of its model."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from ftlab.laboratory.flow.graph import Graph, Measured, ends, is_accumulate
from ftlab.laboratory.flow.stops import FlowTrace
from ftlab.probes.naming import clean_name, layers_of
from ftlab.records.flow import FlowBlock, FlowEdge

LOSS = "loss"


class Blocks:
    """The blocks of a model, in the order in which they compute.

    Attributes
    ----------
    names
        Block of each parameter, and of each module that computed.
    """

    def __init__(self, model: torch.nn.Module, trace: FlowTrace | None) -> None:
        parameters = [clean_name(name) for name, _ in model.named_parameters()]
        modules = [] if trace is None else [path for path in trace.order if path]
        names = layers_of([*parameters, *modules])
        known = {names[each] for each in parameters}
        self.names = {each: name for each, name in names.items() if name in known}
        computed = dict.fromkeys(names[each] for each in modules)
        rest = [each for each in map(names.get, parameters) if each not in computed]
        ranks = [e for e in dict.fromkeys((*rest, *computed)) if e in known]
        self._ranks = {name: rank for rank, name in enumerate(ranks)}
        self._ranks[LOSS] = len(ranks)
        self._trace = trace

    def from_the_loss(self, wanted: Iterable[str]) -> list[str]:
        """Sort blocks: the loss first, what computes first at the end."""
        return sorted(wanted, key=lambda each: -self._ranks[each])

    def of_nodes(self, graph: Graph, parameters: Mapping[int, str]) -> dict[Any, str]:
        """Name the block of each node: its own, or that of the nodes that lead to it.

        Where several lead to it, it belongs to the one that computes first.
        """
        found: dict[Any, str] = {}
        for node in graph.nodes:
            found[node] = self._own(node, graph, parameters) or found.get(node, LOSS)
            for each in ends(node):
                other = found.get(each, LOSS)
                found[each] = min(other, found[node], key=lambda e: self._ranks[e])
        return found

    def _own(
        self, node: Any, graph: Graph, parameters: Mapping[int, str]
    ) -> str | None:
        if self._trace is not None:
            made = self._trace.made.get(node)
            return None if made is None else self.names.get(made.module)
        weights = (parameters.get(id(each)) for each in graph.weights_of(node))
        return next((self.names[each] for each in weights if each is not None), None)


def blocks_and_edges(
    blocks: Blocks,
    graph: Graph,
    found: Measured,
    trained: Mapping[int, str],
    reached: set[int],
) -> tuple[tuple[FlowBlock, ...], tuple[FlowEdge, ...]]:
    """Return the blocks, from the loss to the input, and what flows between them.

    Parameters
    ----------
    trained
        Names of the trained parameters, by ``id``.
    """
    block_of = blocks.of_nodes(graph, trained)
    edges, arrives = _between(graph, found, block_of)
    held: dict[str, list[int]] = {}
    for identity, name in trained.items():
        held.setdefault(blocks.names[name], []).append(identity)
    shown = {block_of[each] for each in graph.nodes if not is_accumulate(each)}
    order = blocks.from_the_loss(shown.union(held))
    told = tuple(
        _block(name, held.get(name, ()), found, trained, reached, arrives)
        for name in order
    )
    return told, tuple(FlowEdge(*pair, math.sqrt(e)) for pair, e in edges.items())


def _between(
    graph: Graph, found: Measured, block_of: Mapping[Any, str]
) -> tuple[dict[tuple[str, str], float], dict[str, float]]:
    """Return the squared norms that go from block to block, and that come to each.

    Where all that comes to a node is of one block, its norm is that of the sum.
    """
    into: dict[Any, dict[str, float]] = {}
    for node in graph.nodes:
        for place, (end, _) in enumerate(node.next_functions):
            if end is not None and not is_accumulate(end):
                norm = found.hands.get((node, place), math.nan)
                came = into.setdefault(end, {})
                square = 0.0 if math.isnan(norm) else norm**2
                came[block_of[node]] = came.get(block_of[node], 0.0) + square
    edges: dict[tuple[str, str], float] = {}
    arrives: dict[str, float] = {}
    for node, came in into.items():
        target = block_of[node]
        whole = found.arrives.get(node, 0.0) ** 2
        for source, square in came.items():
            if source != target and whole:
                pair, part = (source, target), whole if len(came) == 1 else square
                edges[pair] = edges.get(pair, 0.0) + part
        if whole and set(came) != {target}:
            arrives[target] = arrives.get(target, 0.0) + whole
    return edges, arrives


def _block(
    name: str,
    held: Sequence[int],
    found: Measured,
    trained: Mapping[int, str],
    reached: set[int],
    arrives: Mapping[str, float],
) -> FlowBlock:
    norms = [found.parameters.get(each, 0.0) for each in held]
    return FlowBlock(
        name,
        len(held),
        sum(each in reached for each in held),
        math.sqrt(arrives[name]) if name in arrives else math.nan,
        math.sqrt(sum(each**2 for each in norms)) if held else math.nan,
        tuple(trained[each] for each in held),
    )
