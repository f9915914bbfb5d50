"""The graph of a loss: its nodes, the parameters at its ends, and what flows."""

import contextlib
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from ftlab.records.handle import HandleStack

_K = TypeVar("_K")

NEAR = 3
"""Nodes that may stand between an operation and a weight that it is given: a transpose,
a view, a cast."""


class Graph:
    """All nodes that a loss reaches.

    Parameters
    ----------
    root
        The loss's node; ``None`` gives an empty graph.
    parameters
        Names of the parameters, by ``id``.

    Attributes
    ----------
    nodes
        Those nearer to the loss first.
    """

    def __init__(self, root: Any, parameters: Mapping[int, str]) -> None:
        self._bits = {each: 1 << at for at, each in enumerate(parameters)}
        self._names = list(parameters.values())
        self._reach: dict[Any, int] = {}
        self.nodes = [] if root is None else self._sorted(root)

    def _sorted(self, root: Any) -> list[Any]:
        """Return the nodes from ``root``, each before those that it leads to."""
        done: list[Any] = []
        state: dict[Any, int] = {}
        waiting = [(root, iter(ends(root)))]
        state[root] = 1
        while waiting:
            node, left = waiting[-1]
            for each in left:
                if each not in state and each not in self._reach:
                    state[each] = 1
                    waiting.append((each, iter(ends(each))))
                    break
            else:
                waiting.pop()
                self._reach[node] = self._own(node)
                for each in ends(node):
                    self._reach[node] |= self._reach.get(each, 0)
                done.append(node)
        return done[::-1]

    def _own(self, node: Any) -> int:
        leaf = getattr(node, "variable", None) if is_accumulate(node) else None
        return 0 if leaf is None else self._bits.get(id(leaf), 0)

    def behind(self, node: Any) -> int:
        """Return which parameters a node leads to, as bits."""
        if node not in self._reach:
            self._sorted(node)
        return self._reach[node]

    def bit(self, parameter: torch.Tensor) -> int:
        """Return the bit of a parameter, 0 for another tensor."""
        return self._bits.get(id(parameter), 0)

    def names(self, bits: int) -> tuple[str, ...]:
        """Name the parameters of some bits."""
        return tuple(name for at, name in enumerate(self._names) if bits & (1 << at))

    def weights_of(self, node: Any) -> Iterator[torch.Tensor]:
        """Yield the leaves that an operation is given."""
        near = [(each, NEAR) for each in ends(node)]
        while near:
            at, left = near.pop()
            if is_accumulate(at):
                yield at.variable
            elif left and len(ends(at)) == 1:
                near.append((ends(at)[0], left - 1))

    def above(self, found: "Measured") -> dict[torch.Tensor, set[tuple[Any, int]]]:
        """Return what makes the gradient of each leaf zero, where something does.

        It is the nearest edge on which nothing is handed on although something came.
        """
        makers: dict[Any, set[tuple[Any, int]]] = {}
        leaves: dict[torch.Tensor, set[tuple[Any, int]]] = {}
        for node in self.nodes:
            if is_accumulate(node):
                leaves[node.variable] = makers.get(node, set())
                continue
            comes = found.arrives.get(node, 0.0) > 0
            for place, (end, _) in enumerate(node.next_functions):
                if end is None or found.hands.get((node, place), 0.0):
                    continue
                mine = {(node, place)} if comes else makers.get(node, set())
                makers.setdefault(end, set()).update(mine)
        return leaves


def is_accumulate(node: Any) -> bool:
    """Say whether a node is where a parameter's gradient is kept."""
    return type(node).__name__ == "AccumulateGrad"


def ends(node: Any) -> list[Any]:
    """Return the nodes that a node hands gradients to."""
    return [each for each, _ in node.next_functions if each is not None]


@dataclass(frozen=True, slots=True)
class Measured:
    """What flowed.

    Attributes
    ----------
    arrives
        By node, norm of the gradient that came.
    hands
        By node and place among its ends, norm of what it handed on; absent for none.
    empty
        Places of which it had no elements.
    parameters
        By ``id``, norm of a parameter's gradient; absent where there was none.
    """

    arrives: Mapping[Any, float]
    hands: Mapping[tuple[Any, int], float]
    empty: frozenset[tuple[Any, int]]
    parameters: Mapping[int, float]


def measured(
    loss: torch.Tensor, graph: Graph, parameters: Sequence[torch.Tensor]
) -> Measured:
    """Run backward once, and measure what every node gets and hands on.

    Gradients of parameters stay what they were.

    Raises
    ------
    RuntimeError
        Backward failed.
    """
    seen = _Seen()
    whole = any("CheckpointFunction" in type(each).__name__ for each in graph.nodes)
    whole = whole or any(hasattr(each, "to_local") for each in parameters)
    handles = HandleStack()
    try:
        for node in graph.nodes:
            if not is_accumulate(node):
                handles.add(node.register_hook(functools.partial(seen.note, node)))
        found = _gradients(loss, parameters, whole=whole)
    finally:
        handles.remove()
    return Measured(
        _read(seen.came),
        _read(seen.handed),
        frozenset(seen.empty),
        _read({at: _norm(each) for at, each in found.items()}),
    )


class _Seen:
    """Norms of what nodes get and hand on, still on their devices."""

    def __init__(self) -> None:
        self.came: dict[Any, torch.Tensor] = {}
        self.handed: dict[tuple[Any, int], torch.Tensor] = {}
        self.empty: set[tuple[Any, int]] = set()

    def note(self, node: Any, handed: Any, got: Any) -> None:
        """Note what a node got and what it hands on."""
        came = [each for each in got if each is not None]
        if came:
            self.came[node] = _together(came)
        for place, each in enumerate(handed):
            if each is not None:
                self.handed[node, place] = _norm(each)
                if each.numel() == 0:
                    self.empty.add((node, place))


def _read(norms: Mapping[_K, torch.Tensor]) -> dict[_K, float]:
    """Read all numbers at once, from each device."""
    found: dict[_K, float] = {}
    for device in {each.device for each in norms.values()}:
        keys = [key for key, each in norms.items() if each.device == device]
        read = torch.stack([norms[key] for key in keys]).tolist()
        found.update(zip(keys, read, strict=True))
    return found


def _gradients(
    loss: torch.Tensor, parameters: Sequence[torch.Tensor], *, whole: bool
) -> dict[int, torch.Tensor]:
    """Return the gradients that there are, by ``id`` of their parameters.

    What a reentrant checkpoint computes again has a graph of its own, which only a
    ``whole`` backward goes through; only that puts gradients on shards, too.
    """
    seed = torch.ones_like(loss)
    if not whole:
        found: Any = torch.autograd.grad(
            loss, parameters, seed, retain_graph=True, allow_unused=True
        )
        pairs = zip(parameters, found, strict=True)
        return {id(p): each for p, each in pairs if each is not None}
    hooked = [p for p in parameters if getattr(p, "_post_accumulate_grad_hooks", None)]
    if hooked:
        msg = (
            "a reentrant checkpoint or shards need a whole backward, and a hook on "
            "parameters (an optimizer that steps in backward) would run with it"
        )
        raise RuntimeError(msg)
    with gradients_apart(parameters):
        torch.autograd.backward(loss, seed, retain_graph=True)
        return {id(p): local(p.grad) for p in parameters if p.grad is not None}


def local(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor, or of a shard what this process holds of it."""
    shard: torch.Tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return shard


@contextlib.contextmanager
def gradients_apart(parameters: Iterable[torch.Tensor]) -> Iterator[None]:
    """Take the gradients off parameters, and put the same objects back."""
    kept = [(each, each.grad) for each in parameters]
    try:
        for each, _ in kept:
            each.grad = None
        yield
    finally:
        for each, gradient in kept:
            each.grad = gradient


def _norm(tensor: torch.Tensor) -> torch.Tensor:
    values = tensor.coalesce().values() if tensor.is_sparse else tensor
    if values.is_complex():
        values = torch.view_as_real(values)
    if not values.is_floating_point():
        values = values.float()
    return torch.linalg.vector_norm(values.detach(), dtype=torch.float32)


def _together(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    norms = [_norm(each) for each in tensors]
    return norms[0] if len(norms) == 1 else torch.linalg.vector_norm(torch.stack(norms))
