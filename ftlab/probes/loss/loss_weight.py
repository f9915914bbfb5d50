"""What a loss is made of when backward is called on it: a mean, a sum, divided by what.

The graph tells: below the tensor that backward is called on lie the factors that were
multiplied in, and below those the reduction that made a number of many.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ftlab.probes.loss.loss_graph import is_plain

NODES = 32
"""Nodes that are looked at, from the loss on."""

_SAME = (
    "ToCopyBackward",
    "CloneBackward",
    "AliasBackward",
    "ViewBackward",
    "SqueezeBackward",
    "UnsqueezeBackward",
    "ReshapeAliasBackward",
)
SUMS_OF_TWO = ("AddBackward", "SubBackward")
_REDUCTIONS = {"MeanBackward": "mean", "SumBackward": "sum"}
_NUMBERED = {1: "mean", 2: "sum"}
"""How torch numbers the reductions of its own losses."""


@dataclass(slots=True)
class LossWeight:
    """What stands between a reduction and the tensor that backward begins from.

    Attributes
    ----------
    kind
        ``"mean"`` where every part is the mean of something, ``"sum"`` where one is a
        sum, ``""`` where it cannot be told.
    weight
        What the means are multiplied with, all parts of the loss together.
    largest
        The same of the heaviest part.
    node
        The node that the first part ends in.
    divided
        Divisors of the loss as a whole, but for 1, outermost first.
    labels
        Over how many labels a cross entropy averages, on the device.
    mean
        The node of the mean that all of the loss is.
    """

    kind: str = ""
    weight: float = 0.0
    largest: float = 0.0
    node: str = ""
    divided: list[float] = field(default_factory=list)
    labels: torch.Tensor | None = None
    mean: Any = None

    def detail(self) -> dict[str, Any]:
        """Give what the ledger keeps; nothing where nothing is known."""
        if not self.kind:
            return {}
        found: dict[str, Any] = {"loss": self.kind, "node": self.node}
        found["weight"] = self.weight
        if self.largest != self.weight:
            found["largest"] = self.largest
        return found | ({"divided": self.divided} if self.divided else {})


def weigh(losses: Sequence[Any], *, scaled: bool = False) -> LossWeight:
    """Read the factors of a loss from its graph, before backward frees it.

    Numbers that live on another device than the CPU are not read: what they multiply
    is of unknown weight.

    Parameters
    ----------
    losses
        What backward is called on; of several at once nothing is said.
    scaled
        A gradient scaler has multiplied the loss last.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.loss.loss_weight import weigh
    >>> weigh([torch.ones(3, requires_grad=True).mean() / 4]).detail()
    {'loss': 'mean', 'node': 'Mean', 'weight': 0.25, 'divided': [4.0]}
    """
    found = LossWeight()
    if len(losses) != 1 or getattr(losses[0], "grad_fn", None) is None:
        return found
    kinds = set(_Walk(found, scaled).kinds(losses[0].grad_fn, 1.0, trunk=True))
    if "" not in kinds:
        found.kind = "sum" if "sum" in kinds else "mean"
    return found


class _Walk:
    """Goes down the graph until each branch has ended in a reduction."""

    def __init__(self, found: LossWeight, scaled: bool) -> None:
        self._found = found
        self._scaled = scaled
        self._left = NODES

    def kinds(self, node: Any, factor: float, *, trunk: bool) -> Iterator[str]:
        """Yield what each branch below ends in; ``trunk``: it is the only one so far.

        A branch whose end is not known yields ``""``.
        """
        while node is not None and self._left:
            self._left -= 1
            name = node.name().rstrip("0123456789")
            kind = _reduction(node, name)
            if kind:
                self._found.node = self._found.node or name.removesuffix("Backward")
                self._end(node, kind, factor)
                yield kind
                return
            if name in SUMS_OF_TWO:
                yield from self._branches(node, factor)
                return
            step = self._factor(node, name)
            if step is None:
                break
            if trunk and name == "DivBackward" and step != 1:
                self._found.divided.append(1 / step)
            factor *= step
            node = next((each for each, _ in node.next_functions if each), None)
        yield ""

    def _branches(self, node: Any, factor: float) -> Iterator[str]:
        alpha = float(getattr(node, "_saved_alpha", 1))
        for place, (each, _) in enumerate(node.next_functions):
            if each is not None:
                yield from self.kinds(each, factor * alpha**place, trunk=False)

    def _end(self, node: Any, kind: str, factor: float) -> None:
        if kind == "mean":
            self._found.weight += abs(factor)
            self._found.largest = max(self._found.largest, abs(factor))
            alone = self._found.largest == self._found.weight
            self._found.labels = _labels(node) if alone else None
            self._found.mean = node if alone else None

    def _factor(self, node: Any, name: str) -> float | None:
        if name == "MulBackward" and self._scaled:
            self._scaled = False
            return 1.0
        return factor_of(node, name)


def factor_of(node: Any, name: str) -> float | None:
    """Return what a node of this name multiplies by; ``None`` where it is not known."""
    if name in _SAME:
        return 1.0
    if name == "NegBackward":
        return -1.0
    if name not in ("MulBackward", "DivBackward"):
        return None
    value = constant(node)
    if name == "MulBackward" or not value:
        return value or None
    return 1 / value


def _reduction(node: Any, name: str) -> str:
    """Tell how a node makes one number of many; ``""`` where it does not."""
    if name in _REDUCTIONS:
        return _REDUCTIONS[name]
    kept = getattr(node, "_saved_reduction", None)
    return _NUMBERED.get(kept, "") if isinstance(kept, int) else ""


def constant(node: Any) -> float | None:
    """Read the number that a product or a quotient was made with."""
    known = []
    for what in ("self", "other"):
        hidden = hasattr(node, f"_raw_saved_{what}") and not is_plain(node, what)
        saved = None if hidden else getattr(node, f"_saved_{what}", None)
        if isinstance(saved, torch.Tensor):
            if saved.numel() != 1 or saved.device.type != "cpu":
                return None
            saved = float(saved.detach())
        if isinstance(saved, int | float):
            known.append(float(saved))
    return known[0] if len(known) == 1 and math.isfinite(known[0]) else None


def _labels(node: Any) -> torch.Tensor | None:
    """Return over how many labels a cross entropy without class weights averages."""
    if getattr(node, "_saved_weight", None) is not None:
        return None
    if not is_plain(node, "total_weight"):
        return None
    total = node._saved_total_weight  # noqa: SLF001  torch documents such names
    return total.detach().reshape(1).float()
