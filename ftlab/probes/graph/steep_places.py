"""Operations whose derivative is no number at what they were given.

The loss may be finite all the same, for a mask leaves these places out; backward
multiplies their infinite derivative by 0, which is NaN. Nothing is read here: whether
a graph holds such a place is known on the device first.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch

from ftlab.probes.graph.nan_makers import LIMIT, Maker
from ftlab.probes.graph.saved_values import nodes_of, op_of, saved

MOST = 256
"""Operations that are looked at, the last before the loss first."""

Flag = tuple[Maker, torch.Tensor]


def steep_places(losses: Iterable[Any]) -> list[Flag]:
    """List what may be steep in order, each with a flag (0 or 1) on its device.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.graph.steep_places import steep_places
    >>> b = torch.zeros(3, requires_grad=True)
    >>> steep_places([(b**2).sum().sqrt()])
    [(Maker(reason='root of zero', ops=('sqrt',)), tensor(True))]
    """
    found: list[Flag] = []
    for node in reversed(nodes_of(losses)):
        look = _LOOKS.get(op_of(node))
        flag = None if look is None else look(node)
        if flag is not None:
            found.append(flag)
        if len(found) >= MOST:
            break
    return found[::-1]


def _small(values: torch.Tensor | None) -> bool:
    return values is not None and 0 < values.numel() <= LIMIT


def _softmax(node: Any) -> Flag | None:
    result = saved(node, "result")
    if result is None or not _small(result):
        return None
    return Maker("softmax of nothing", (op_of(node),)), result.sum().isnan()


def _overflow(node: Any) -> Flag | None:
    result = saved(node, "result")
    if result is None or not _small(result):
        return None
    op = op_of(node)
    reason = "overflow" if op.startswith("exp") else "infinite"
    return Maker(reason, (op,)), result.abs().amax() == torch.inf


def _root(node: Any) -> Flag | None:
    result = saved(node, "result")
    if result is None or not _small(result):
        return None
    return Maker("root of zero", (op_of(node),)), (result == 0).any()


def _power(node: Any) -> Flag | None:
    exponent = getattr(node, "_saved_exponent", None)
    if not isinstance(exponent, int | float) or not 0 < exponent < 1:
        return None
    values = saved(node, "self")
    if values is None or not _small(values):
        return None
    return Maker("root of zero", ("pow",)), (values == 0).any()


def _logarithm(node: Any) -> Flag | None:
    values = saved(node, "self")
    if values is None or not _small(values):
        return None
    return Maker("log of zero", (op_of(node),)), (values == 0).any()


def _quotient(node: Any) -> Flag | None:
    divisor = saved(node, "other")
    if divisor is None or not _small(divisor) or not divisor.dim():
        return None
    return Maker("division by zero", ("div",)), (divisor == 0).any()


_LOOKS: Mapping[str, Callable[[Any], Flag | None]] = {
    "softmax": _softmax,
    "exp": _overflow,
    "exp2": _overflow,
    "expm1": _overflow,
    "rsqrt": _overflow,
    "reciprocal": _overflow,
    "sqrt": _root,
    "pow": _power,
    "log": _logarithm,
    "log2": _logarithm,
    "log10": _logarithm,
    "div": _quotient,
}
