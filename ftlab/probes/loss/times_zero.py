"""Whether a loss is multiplied by a number that is exactly 0, and so is constant."""

from collections.abc import Sequence
from typing import Any

from ftlab.probes.loss.loss_weight import constant

NODES = 64
"""Nodes that are looked at, from the loss on."""


def times_zero(losses: Sequence[Any]) -> str:
    """Name the product with 0 that all ways from a loss lead through.

    Returns
    -------
    str
        ``""`` where a way leads past it, or ends far from the loss.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.loss.times_zero import times_zero
    >>> score = torch.ones(3, requires_grad=True)
    >>> times_zero([-torch.nn.functional.logsigmoid(0.0 * score).mean()])
    'mul'
    >>> times_zero([(0.0 * score + score).mean()])
    ''
    """
    waiting: list[Any] = [getattr(each, "grad_fn", None) for each in losses]
    seen = set(waiting)
    found = ""
    while waiting:
        node = waiting.pop()
        before = () if node is None else node.next_functions
        if not before or len(seen) > NODES:
            return ""
        if node.name().startswith("MulBackward") and constant(node) == 0:
            found = "mul"
            continue
        new = {each for each, _ in before if each is not None} - seen
        seen |= new
        waiting += new
    return found
