"""How much of a loss hangs on nothing: terms without a graph teach nothing.

A term that was taken out of the graph (``.detach()``, ``.item()``, ``no_grad``) still
counts in the value of the loss. The graph shows a sum with a summand that has no node;
where all its other summands are cross entropies, what those have kept gives their
values, and the rest of the loss is what hangs on nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.graph.saved_values import saved
from ftlab.probes.hooked import HookedProbe
from ftlab.probes.loss.loss_weight import SUMS_OF_TWO, factor_of
from ftlab.probes.probe import Moment, Reading, Result
from ftlab.probes.schedule import every
from ftlab.probes.stepping.backward_ear import hear_backward
from ftlab.probes.subject import Subject
from ftlab.records.handle import Handle

NODES = 32
"""Nodes that are looked at, from the loss on."""

_CROSS_ENTROPIES = ("NllLossBackward", "NllLoss2DBackward")
_PRECISE = (torch.float32, torch.float64)
"""In half precision rounding would show as a term."""

_MEAN, _SUM = 1, 2
"""How torch numbers the reductions of its own losses."""


class ConstantTerms(HookedProbe):
    """Measure, on due steps, the part of the loss that has no gradient.

    Step values: ``constant_loss``, that part in the units of what backward is called
    on, and ``constant_share``, its share of the loss.

    Parameters
    ----------
    interval
        Steps between two looks, in the long run.
    """

    def __init__(self, interval: int = 16) -> None:
        super().__init__()
        self.schedule = every(interval)
        self._open = False
        self._found: torch.Tensor | None = None

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Listen for backward."""
        return [hear_backward(self._look, self._fail)]

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Look at the backward that follows; the last one of a step counts."""
        self._open = True
        return ()

    def _look(self, losses: Sequence[Any]) -> None:
        if self._open:
            self._open = False
            self._found = constant_part(losses)

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Hand over what was found."""
        self._raise_failure()
        found, self._found = self._found, None
        return () if found is None else (Reading(found, _finish),)


def _finish(values: NDArray[np.float32]) -> Iterator[Result]:
    names = ("constant_loss", "constant_share")
    yield dict(zip(names, values.tolist(), strict=True))


def constant_part(losses: Sequence[Any]) -> torch.Tensor | None:
    """Return what of a loss has no gradient, and which share that is, on its device.

    Parameters
    ----------
    losses
        What backward is called on; of several at once nothing is said.

    Returns
    -------
    torch.Tensor or None
        ``(2,)``, float32. ``None`` where nothing is added without a graph, or where
        the value of another summand cannot be read.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.loss.constant_terms import constant_part
    >>> logits = torch.zeros(4, 2, requires_grad=True)
    >>> loss = torch.nn.functional.cross_entropy(logits, torch.tensor([0, 1, 1, 0]))
    >>> constant_part([loss + 0.5 * logits.exp().mean().item()])
    tensor([0.5000, 0.4191])
    >>> constant_part([loss])
    """
    if len(losses) != 1:
        return None
    loss = losses[0]
    if getattr(loss, "grad_fn", None) is None or loss.dim():
        return None
    if loss.dtype not in (
        torch.float32,
        torch.float64,
    ):  # rounding would show as a term
        return None
    walk = _Walk()
    if not walk.reads(loss.grad_fn, 1.0) or not walk.alone:
        return None
    values = [factor * value for factor, value in walk.terms]
    whole = loss.detach().float()
    rest = whole - torch.stack([each.to(whole) for each in values]).sum()
    return torch.stack((rest, rest / whole.abs()))


class _Walk:
    """Goes down the sums of a loss until each branch ends in a cross entropy.

    Attributes
    ----------
    terms
        The cross entropies: what they are multiplied with, and their values.
    alone
        Whether something is added that has no graph.
    """

    def __init__(self) -> None:
        self.terms: list[tuple[float, torch.Tensor]] = []
        self.alone = False
        self._left = NODES

    def reads(self, node: Any, factor: float) -> bool:
        """Follow a branch; tell whether all of it could be read."""
        while self._left:
            self._left -= 1
            name = node.name().rstrip("0123456789")
            if name in _CROSS_ENTROPIES:
                value = _value(node)
                if value is not None:
                    self.terms.append((factor, value))
                return value is not None
            if name in SUMS_OF_TWO:
                return self._both(node, name, factor)
            step = factor_of(node, name)
            if step is None:
                return False
            factor *= step
            node = next(each for each, _ in node.next_functions if each)
        return False

    def _both(self, node: Any, name: str, factor: float) -> bool:
        alpha = float(getattr(node, "_saved_alpha", 1))
        second = -alpha if name == "SubBackward" else alpha
        for (each, _), times in zip(node.next_functions, (1.0, second), strict=False):
            if each is None:
                self.alone = True
            elif not self.reads(each, factor * times):
                return False
        return True


def _value(node: Any) -> torch.Tensor | None:
    """Compute a cross entropy from what it has kept; ``None`` with class weights."""
    logs, labels = saved(node, "self"), saved(node, "target")
    reduction = node._saved_reduction  # noqa: SLF001  torch documents such names
    weighed = saved(node, "weight") is not None
    if logs is None or labels is None or weighed or reduction not in (_MEAN, _SUM):
        return None
    if logs.dtype not in _PRECISE:
        return None
    ignored = node._saved_ignore_index  # noqa: SLF001  as above
    counted = labels != (ignored - 2**64 if ignored >= 2**63 else ignored)
    axis = 1 if logs.dim() > 1 else 0
    index = torch.where(counted, labels, 0).unsqueeze(axis)
    found = torch.where(counted, -logs.gather(axis, index).squeeze(axis).float(), 0.0)
    return found.sum() / counted.sum() if reduction == _MEAN else found.sum()
