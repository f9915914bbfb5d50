"""What the nodes of an autograd graph have kept, read before backward frees it.

Nothing is computed again here: a tensor that somebody's hook would bring back is left
alone, and so are the nodes of functions written in Python.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from ftlab.probes.loss.loss_graph import is_plain
from ftlab.probes.torch_private import has_values

NODES = 20_000
"""Nodes of a graph that are looked at, the nearest to the loss first."""

_CALLED = {
    "nll_loss": "cross_entropy",
    "nll_loss2d": "cross_entropy",
    "safe_softmax": "softmax",
}
_SAME = frozenset(
    {
        "alias",
        "clone",
        "expand",
        "gather",
        "index",
        "permute",
        "reshape_alias",
        "select",
        "slice",
        "split",
        "squeeze",
        "t",
        "to_copy",
        "transpose",
        "unsafe_split",
        "unsafe_view",
        "unsqueeze",
        "view",
    }
)
"""Operations whose results are numbers that they were given."""


def op_of(node: Any) -> str:
    """Name what a node is of, as it is called in Python.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.graph.saved_values import op_of
    >>> op_of(torch.ones(1, requires_grad=True).log_softmax(0).grad_fn)
    'log_softmax'
    """
    name = re.sub(r"Backward\d*$", "", node.name())
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    snake = snake.replace("loss2_d", "loss2d")
    return _CALLED.get(snake, snake)


def nodes_of(losses: Iterable[Any]) -> list[Any]:
    """List the nodes behind some losses in the order in which they were computed."""
    starts = [getattr(each, "grad_fn", None) for each in losses]
    waiting = [node for node in starts if node is not None]
    seen = set(waiting)
    for node in waiting:
        if len(seen) > NODES:
            break
        for before, _ in node.next_functions:
            if before is not None and before not in seen:
                seen.add(before)
                waiting.append(before)
    # A leaf has the largest number there is, and no values.
    return sorted(waiting, key=lambda node: node._sequence_nr())  # noqa: SLF001


def saved(node: Any, what: str) -> torch.Tensor | None:
    """Return a tensor that a node keeps under a name, if it is just there."""
    if not hasattr(node, f"_raw_saved_{what}") or not is_plain(node, what):
        return None
    value = getattr(node, f"_saved_{what}")
    if not isinstance(value, torch.Tensor) or not has_values(value):
        return None
    return value.detach()


def given(node: Any, place: int) -> Any:
    """Return the node that computed an input, past views and copies."""
    functions = node.next_functions
    node = functions[place][0] if place < len(functions) else None
    while node is not None and op_of(node) in _SAME and node.next_functions:
        node = node.next_functions[0][0]
    return node


def floats(node: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the floating numbers that a node keeps, by the names torch gives them."""
    for name in dir(node):
        if name.startswith("_raw_saved_"):
            what = name.removeprefix("_raw_saved_")
            value = saved(node, what)
            if value is not None and value.is_floating_point() and value.numel():
                yield what, value
