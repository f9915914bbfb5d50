"""Which operation made the NaN or the infinity of a loss, read from its graph.

Autograd keeps what backward will need: of a product both factors, of a softmax its
result, of a logarithm what it was taken of. In the order of computation the first
operation is looked for that must have given a NaN from inputs that are none.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.probes.graph.saved_values import floats, given, nodes_of, op_of, saved

LIMIT = 2**24
"""Elements of a kept tensor that are looked at; a larger one is passed over."""

_INPUTS: Mapping[str, int] = {"self": 0, "other": 1, "mat1": 0, "mat2": 1, "input": 0}
_MAY_BE_MASKED = frozenset({"log_softmax", "exp", "div"})
"""What is infinite in places that a mask leaves out, in losses that are right."""


GIVEN = "given"
"""The reason where something that keeps nothing for backward made it, or a weight."""


@dataclass(frozen=True, slots=True)
class Maker:
    """What made it.

    Attributes
    ----------
    reason
        ``"zero times infinity"``, ``"log of zero"``, ...
    ops
        The operations at fault, the first cause in front.
    """

    reason: str
    ops: tuple[str, ...]


def maker_of(losses: Iterable[Any]) -> Maker | None:
    """Find what made a loss NaN or infinite; reads values, so on the CPU only.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.graph.nan_makers import maker_of
    >>> p = torch.tensor([0.0, 1.0], requires_grad=True)
    >>> maker_of([(p * p.log()).sum()])
    Maker(reason='zero times infinity', ops=('log', 'mul'))
    """
    nodes = nodes_of(losses)
    for node in nodes:
        found = _nan_maker(node)
        if found is not None:
            return found
    infinite = [Maker(why, (op_of(node),)) for node in nodes if (why := infinity(node))]
    certain = (each for each in infinite if each.ops[0] not in _MAY_BE_MASKED)
    return next(certain, infinite[0] if infinite else None)


def _nan_maker(node: Any) -> Maker | None:
    """See whether a node holds a NaN, or gives one; say what is known of it."""
    op = op_of(node)
    for what, values in floats(node):
        if values.numel() > LIMIT or not values.isnan().any():
            continue
        made = what in ("result", "output")
        before = node if made else given(node, _INPUTS.get(what, 0))
        born = "" if before is None else op_of(before)
        ops = (op,) if made else (born, op)
        return Maker(_REASONS[born], ops) if born in _REASONS else Maker(GIVEN, (op,))
    test = _TESTS.get(op)
    return None if test is None else test(node)


_REASONS = {
    "softmax": "softmax of nothing",
    "log_softmax": "softmax of nothing",
    "sqrt": "root below zero",
    "log": "log below zero",
}


def _product(node: Any) -> Maker | None:
    """See an infinity that meets a zero."""
    pairs = (("self", "other", 0), ("other", "self", 1))
    for mine, others, place in pairs:
        values, factor = saved(node, mine), saved(node, others)
        before = given(node, place)
        if factor is None or not bool((factor == 0).any()):
            continue
        if values is not None:
            meets = bool((values.isinf() & (factor == 0)).any())
        else:
            meets = before is not None and bool(infinity(before))
        if meets:
            cause = () if before is None else (op_of(before),)
            ops = (*cause, "mul")
            return Maker("zero times infinity", tuple(dict.fromkeys(ops)))
    return None


def _quotient(node: Any) -> Maker | None:
    values, divisor = saved(node, "self"), saved(node, "other")
    if values is not None and divisor is not None:
        both = ((values == 0) & (divisor == 0)) | (values.isinf() & divisor.isinf())
        if bool(both.any()):
            return Maker("zero by zero", ("div",))
    return None


def _average(node: Any) -> Maker | None:
    total = saved(node, "total_weight")
    reduced = getattr(node, "_saved_reduction", 0)
    if reduced == 1 and total is not None and bool((total == 0).all()):
        return Maker("no label counts", ("cross_entropy",))
    return None


def _mean(node: Any) -> Maker | None:
    if getattr(node, "_saved_self_sym_numel", 1) == 0:
        return Maker("mean of nothing", ("mean",))
    return None


def _logarithm(node: Any) -> Maker | None:
    values = saved(node, "self")
    if values is not None and bool((values < 0).any()):
        return Maker("log below zero", (op_of(node),))
    return None


_TESTS: Mapping[str, Callable[[Any], Maker | None]] = {
    "mul": _product,
    "div": _quotient,
    "cross_entropy": _average,
    "mean": _mean,
    "log": _logarithm,
    "log2": _logarithm,
    "log10": _logarithm,
}


def infinity(node: Any) -> str:
    """Say why a node's result holds an infinity; ``""`` where it is not known to."""
    op = op_of(node)
    if op in ("log", "log2", "log10"):
        values = saved(node, "self")
        return "log of zero" if _any(values, 0.0) else ""
    if op in ("exp", "exp2", "expm1", "rsqrt", "reciprocal", "log_softmax"):
        values = saved(node, "result")
        found = _any(values, torch.inf) or _any(values, -torch.inf)
        return ("overflow" if op.startswith("exp") else "infinite") if found else ""
    if op == "cross_entropy":
        return "label of probability zero" if _impossible(node) else ""
    if op == "div":
        return "division by zero" if _any(saved(node, "other"), 0.0) else ""
    if op in ("neg", "add", "sub") and node.next_functions:
        befores = (given(node, place) for place in range(len(node.next_functions)))
        return next((r for b in befores if b and (r := infinity(b))), "")
    return ""


def _any(values: torch.Tensor | None, number: float) -> bool:
    return values is not None and bool((values == number).any())


def _impossible(node: Any) -> bool:
    """Tell whether a label that counts has probability 0."""
    logs, labels = saved(node, "self"), saved(node, "target")
    if logs is None or labels is None or not logs.isinf().any():
        return False
    ignored = node._saved_ignore_index  # noqa: SLF001  torch documents such names
    ignored = ignored - 2**64 if ignored >= 2**63 else ignored
    counts = labels != ignored
    index = torch.where(counts, labels, 0).unsqueeze(min(1, logs.dim() - 1))
    chosen = logs.gather(min(1, logs.dim() - 1), index).squeeze(min(1, logs.dim() - 1))
    return bool((chosen.isinf() & counts).any())
