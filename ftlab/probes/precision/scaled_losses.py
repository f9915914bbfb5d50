"""Which backward begins from a loss that a GradScaler has scaled.

What ``scaler.scale`` returns may be divided or added up before backward is called on
it, and may as well be thrown away. autograd numbers its nodes as they are made, so few
nodes lie between a loss and the product that the scaler has put into its graph.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from ftlab.probes.torch_private import node_number

NODES = 64
"""Nodes that are looked at, from the loss on."""

KEPT = 4096
"""Scaled losses that are remembered until an update follows."""

ENDLESS = 1 << 63
"""Above the number of any node."""

_OWN = 3
"""Nodes next to a loss among which a product may be a scale of the user's own."""


class ScaledLosses:
    """Remembers the products that scalers have made since the last update."""

    def __init__(self) -> None:
        self._given: set[int] = set()
        self._made: set[int] = set()
        self._plain: dict[int, torch.Tensor] = {}
        self._used = False

    def add(self, outputs: Any, scaled: Any) -> None:
        """Remember what a scaler was given and what it made of that."""
        self._used = True
        if len(self._made) < KEPT:
            self._given.update(_numbers(outputs))
            made = _numbers(scaled)
            self._made.update(made)
            if made and isinstance(outputs, torch.Tensor) and outputs.numel() == 1:
                self._plain[min(made)] = outputs.detach()

    def forget(self) -> None:
        """Begin anew: the update was made."""
        self._given.clear()
        self._made.clear()
        self._plain.clear()

    def plain(self, losses: Sequence[Any]) -> torch.Tensor | None:
        """Return what a scaler was given for the very loss that backward begins from.

        A half-precision loss may overflow when it is scaled.
        """
        nodes = [getattr(each, "grad_fn", None) for each in losses]
        if len(nodes) != 1 or nodes[0] is None:
            return None
        found = self._plain.get(node_number(nodes[0]) or -1)
        return None if found is None else found.reshape(1).float()

    def times(self, losses: Iterable[Any]) -> int | None:
        """Return how often the losses were scaled; ``None`` where it cannot be told."""
        nodes = [getattr(each, "grad_fn", None) for each in losses]
        if not self._used or None in nodes or not nodes:
            return None
        found = max(self._depth(node, [NODES]) for node in nodes)
        if found or any(node_number(node) in self._given for node in nodes):
            return found
        return None if any(map(_has_product, nodes)) else 0

    def _depth(self, node: Any, left: list[int]) -> int:
        """Count products of scalers on the way that has most of them."""
        oldest, deepest = min(self._made, default=ENDLESS), 0
        stack = [(node, 0)]
        while stack and left[0]:
            here, count = stack.pop()
            number = node_number(here)
            if number is None or number < oldest:
                continue
            left[0] -= 1
            count += number in self._made
            deepest = max(deepest, count)
            stack += [(each, count) for each, _ in here.next_functions if each]
        return deepest


def _has_product(node: Any) -> bool:
    """Tell whether the outermost nodes multiply: a scale may have come in there."""
    for _ in range(_OWN):
        if node is None or node.name().startswith("Mul"):
            return node is not None
        node = next((each for each, _ in node.next_functions if each), None)
    return False


def _numbers(outputs: Any) -> set[int]:
    """Return the numbers of the nodes that tensors come from."""
    each = outputs if isinstance(outputs, list | tuple) else [outputs]
    nodes = [t.grad_fn for t in each if isinstance(t, torch.Tensor) and t.grad_fn]
    return {number for node in nodes if (number := node_number(node)) is not None}
