"""Which of the positions count that a loss is the mean of.

A mask of 0 and 1 on the losses of tokens, or labels that a cross entropy passes over,
make them 0; a mean over all positions divides by those as well.
"""

from math import prod
from typing import Any

import torch

from ftlab.probes.graph.saved_values import op_of, saved
from ftlab.probes.loss.loss_shapes import CHOSEN, MOVED, before

DEEP = 12
"""Nodes behind the mean that are looked at."""

_PASSED = MOVED | CHOSEN | {"neg", "mean"}


def mask_of(mean: Any) -> torch.Tensor | None:
    """Return the mask on the losses of tokens that a mean is over, if there is one.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.loss.masked_mean import mask_of
    >>> logits, labels = (
    ...     torch.zeros(3, 4, requires_grad=True),
    ...     torch.tensor([1, -100, 2]),
    ... )
    >>> each = torch.nn.functional.cross_entropy(logits, labels, reduction="none")
    >>> mask_of(each.mean().grad_fn)
    tensor([ True, False,  True])
    >>> mask_of((each * torch.tensor([1.0, 0.0, 0.0])).mean().grad_fn)
    tensor([1., 0., 0.])
    """
    over, mask = 0, None
    node = mean
    for _ in range(DEEP):
        op = "" if node is None else op_of(node)
        if op == "mean":
            over = prod(node._saved_self_sym_sizes)  # noqa: SLF001  as below
        if op == "cross_entropy":
            return _counted(node, over) if mask is None else mask
        if op == "log_softmax":
            return mask
        if op == "mul" and mask is None:
            place, mask = _factor(node, over)
            node = node.next_functions[place][0] if mask is not None else None
        elif op in _PASSED:
            node = before(node)
        else:
            break
    return None


def counted_share(mask: torch.Tensor) -> torch.Tensor:
    """Give the share of positions that count; NaN for weights that are no mask."""
    counts = mask != 0
    plain = (~counts | (mask == 1)).all()
    return torch.where(plain, counts.float().mean(), torch.nan).reshape(1)


def _factor(node: Any, over: int) -> tuple[int, torch.Tensor | None]:
    """Return where the losses come from, and what multiplies all of them."""
    sides = [other for other, _ in node.next_functions]
    if len(sides) < 2 or None not in sides:  # a number, or what is learned
        return 0, None
    place = 1 if sides[0] is None else 0
    mask = saved(node, "self" if place else "other")
    return place, mask if mask is not None and mask.numel() == over else None


def _counted(node: Any, over: int) -> torch.Tensor | None:
    """Mark the labels that a cross entropy does not pass over."""
    labels = saved(node, "target")
    if labels is None or labels.numel() != over:
        return None
    ignored = node._saved_ignore_index  # noqa: SLF001  torch documents such names
    return labels != (ignored - 2**64 if ignored >= 2**63 else ignored)
