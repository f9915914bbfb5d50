"""The terms of a loss that compare scores with labels, and what they were given.

Read from the graph: between a cross entropy and the layer that made its logits lie the
softmax, the constants they were multiplied with, and the positions that were cut off.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ftlab.probes.graph.saved_values import given, op_of, saved
from ftlab.probes.loss.loss_shapes import (
    CHOSEN,
    DEEP,
    MOVED,
    before,
    constant_of,
    divergence_of,
    smoothing_of,
)

NODES = 256
"""Nodes near the loss that are looked at."""

TERMS = frozenset({"cross_entropy", "binary_cross_entropy_with_logits"})
SMOOTHED, DIVERGENCE = "label_smoothing", "kl_div"


@dataclass(slots=True)
class Term:
    """One term.

    Attributes
    ----------
    op
        Of `TERMS`, or ``"label_smoothing"`` or ``"kl_div"``.
    node
        The node that keeps what it compares; backward frees that.
    normalised
        Whether a log-softmax lies before it.
    of
        The operation that made what it was given, past that and all constants.
    factor, factor_op
        The constant that the logits were multiplied with, and the operation that did.
    start, length
        The first position whose logits are used, and how many positions there were
        (0 where that cannot be told).
    chosen
        Whether positions were picked one by one.
    classes
        How many scores a position has.
    weight, wide
        Where the matrix lies in memory that made the scores, and its shape; 0 and
        nothing where no product with a matrix did.
    scores
        The node of the product of two matrices that made the scores.
    smoothing
        The share of the targets that is spread over all classes.
    """

    op: str
    node: Any
    normalised: bool = False
    of: str = ""
    factor: float = 1.0
    factor_op: str = ""
    start: int = 0
    length: int = 0
    chosen: bool = False
    classes: int = 0
    weight: int = 0
    wide: tuple[int, ...] = ()
    scores: Any = None
    smoothing: float = 0.0


def terms_of(losses: Iterable[Any]) -> list[Term]:
    """List the terms that are near some losses.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.loss.loss_terms import terms_of
    >>> logits = torch.zeros(2, 3, requires_grad=True) / 0.5
    >>> loss = torch.nn.functional.cross_entropy(logits, torch.tensor([0, 1]))
    >>> [(term.op, term.factor, term.factor_op) for term in terms_of([loss])]
    [('cross_entropy', 2.0, 'div')]
    """
    found: list[Term] = []
    for node in _near(losses):
        if op_of(node) in TERMS:
            found.append(_read(node, before(node)))
        smoothed, product = smoothing_of(node), divergence_of(node)
        if smoothed is not None:
            share, classes = smoothed
            found.append(Term(SMOOTHED, None, classes=classes, smoothing=share))
        if product is not None and all(each.node is not product for each in found):
            found.append(_read(product, product.next_functions[1][0], DIVERGENCE))
    return found


def _near(losses: Iterable[Any]) -> Iterator[Any]:
    starts = [getattr(each, "grad_fn", None) for each in losses]
    waiting = deque(node for node in starts if node is not None)
    seen = set(waiting)
    while waiting and len(seen) < NODES:
        node = waiting.popleft()
        yield node
        if op_of(node) in TERMS:
            continue
        for other, _ in node.next_functions:
            if other is not None and other not in seen:
                seen.add(other)
                waiting.append(other)


def _read(kept: Any, node: Any, op: str = "") -> Term:
    term = Term(op or op_of(kept), kept)
    for _ in range(DEEP):
        if node is None:
            break
        term.of = op_of(node)
        if not _passes(term, node):
            break
        node = before(node)
    _read_weight(term, node)
    if term.of == "tanh":  # capped: what was multiplied was divided before
        term.factor, term.factor_op = 1.0, ""
    return term


def _passes(term: Term, node: Any) -> bool:
    """Note what a node does to the scores; tell whether it leaves them scores."""
    op = term.of
    if op == "log_softmax":
        term.normalised = True
    elif op == "slice":
        _cut(term, node)
    elif op in CHOSEN:
        term.chosen = True
    elif op in ("mul", "div"):
        constant = constant_of(node)
        term.factor *= (
            1.0 if not constant else constant if op == "mul" else 1 / constant
        )
        term.factor_op = op if constant else term.factor_op
        return bool(constant)
    return op in MOVED or op in CHOSEN or op in ("log_softmax", "slice")


def _read_weight(term: Term, node: Any) -> None:
    """Note the matrix of the head; an adapter on it adds its own product to that."""
    if node is not None and op_of(node) == "add":
        node = given(node, 0)
    matrix = None if node is None else saved(node, "mat2")
    if matrix is not None:
        term.weight, term.wide = matrix.data_ptr(), tuple(matrix.shape)
        term.scores = node


def _cut(term: Term, node: Any) -> None:
    """Note which positions are used of a batch x positions x classes."""
    sizes = tuple(getattr(node, "_saved_self_sym_sizes", ()))
    dimension = getattr(node, "_saved_dim", -1)
    if len(sizes) == 3 and dimension == 1:
        term.start += getattr(node, "_saved_start", 0)
        term.length = int(sizes[1])
    elif dimension == 0:
        term.chosen = True
