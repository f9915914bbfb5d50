"""Terms of a loss that torch, and others, put together from several operations.

Label smoothing is a sum of two means of one log-softmax, and `kl_div` a difference:
neither has a node of its own. What surrounds them is named here too.
"""

from typing import Any, NamedTuple

import torch

from ftlab.probes.graph.saved_values import op_of, saved

DEEP = 24
"""Nodes behind one that are looked at."""

ALIKE = 1e-3
"""How far from 1 the weights of a smoothed loss may add up to."""

MOVED = frozenset(
    {
        "alias",
        "clone",
        "permute",
        "reshape_alias",
        "squeeze",
        "t",
        "to_copy",
        "transpose",
        "unsafe_view",
        "unsqueeze",
        "view",
    }
)
CHOSEN = frozenset({"index", "masked_select", "gather", "index_select", "select"})

_AVERAGED = MOVED | CHOSEN | {"div", "masked_fill", "mean", "mul", "neg", "sum"}


class Smoothing(NamedTuple):
    """The share of a target that all classes have in common, and how many there are."""

    share: float
    classes: int


class _Side(NamedTuple):
    weight: float
    softmax: Any
    classes: int


def smoothing_of(node: Any) -> Smoothing | None:
    """Tell how far a sum smooths its labels; `None` where it does not.

    One side is the labels' loss, the other the mean over the classes of the same
    log-softmax; their weights add up to 1.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.loss.loss_shapes import smoothing_of
    >>> logits, label = torch.zeros(1, 4, requires_grad=True), torch.tensor([0])
    >>> entropy = torch.nn.functional.cross_entropy
    >>> smoothing_of(entropy(logits, label, label_smoothing=0.5).grad_fn)
    Smoothing(share=0.5, classes=4)
    """
    if op_of(node) not in ("add", "sub") or len(node.next_functions) != 2:
        return None
    sides = [_side(each) for each, _ in node.next_functions]
    label = next((each for each in sides if each and not each.classes), None)
    even = next((each for each in sides if each and each.classes), None)
    if label is None or even is None or label.softmax is not even.softmax:
        return None
    for share in (even.weight * even.classes, even.weight):  # of a sum, of a mean
        if abs(label.weight + share - 1) < ALIKE:
            return Smoothing(share, even.classes)
    return None


def divergence_of(node: Any) -> Any:
    """Return the product in a `kl_div` of fixed probabilities that a node averages.

    It is t log t - t * input, of which only the product is in the graph; it keeps t.
    """
    if op_of(node) not in ("sum", "mean"):
        return None
    for _ in range(DEEP):
        node = before(node)
        if node is None or op_of(node) not in _AVERAGED:
            break
    if node is None or op_of(node) != "sub" or before(node) is not None:
        return None
    product = node.next_functions[1][0]
    if product is None or op_of(product) != "mul" or before(product) is not None:
        return None
    return product if saved(product, "self") is not None else None


def before(node: Any) -> Any:
    """Return the node that made the first thing that a node was given."""
    return node.next_functions[0][0] if node.next_functions else None


def constant_of(node: Any) -> float:
    """Return the number that a product or a quotient was made with; 0 if unknown."""
    if len(node.next_functions) > 1 and node.next_functions[1][0] is not None:
        return 0.0  # it is learned
    value = getattr(node, "_saved_other", None)
    if isinstance(value, torch.Tensor):
        value = saved(node, "other")
        if value is None or value.numel() != 1 or value.device.type != "cpu":
            return 0.0
        value = float(value)
    return abs(float(value)) if isinstance(value, int | float) else 0.0


def _side(node: Any) -> _Side | None:
    """Read one side of a smoothed loss; classes are 0 on that of the labels."""
    if node is None or op_of(node) != "mul":
        return None
    weight, classes, labels = constant_of(node), 0, False
    for _ in range(DEEP):
        node = before(node)
        op = "" if node is None else op_of(node)
        if op == "log_softmax":
            known = labels if not classes else not labels and classes == _wide(node)
            return _Side(weight, node, classes) if weight and known else None
        labels = labels or op in ("cross_entropy", "gather")
        if op in ("sum", "mean"):
            classes = _summed(node)
        elif op == "mul" and not constant_of(node):
            return None  # by a teacher's probabilities, say
        elif op != "cross_entropy" and op not in _AVERAGED:
            return None
    return None


def _summed(node: Any) -> int:
    """Return how many numbers each sum is of; 0 where it is one sum of all."""
    dimensions: tuple[int, ...] = getattr(node, "_saved_dim", ())
    if len(dimensions) != 1:
        return 0
    sizes = node._saved_self_sym_sizes  # noqa: SLF001  torch documents such names
    return int(sizes[_signed(dimensions[0])])


def _wide(softmax: Any) -> int:
    """Return how many classes a log-softmax is over."""
    result = saved(softmax, "result")
    dimension = softmax._saved_dim  # noqa: SLF001  as above
    return 0 if result is None else result.shape[_signed(dimension)]


def _signed(dimension: int) -> int:
    return dimension - 2**64 if dimension >= 2**63 else dimension
