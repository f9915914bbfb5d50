"""The loss of each sample, read from what a training step has computed anyway.

Cross entropy keeps the log-probabilities of all tokens for its backward. They hang on
the loss, so one look-up per label gives the loss of each token: no logits are computed
again, and what the step computes stays as it is.
"""

from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

import torch

NODES = 64
"""Nodes of the graph that are looked at, the nearest to the loss first."""

_CROSS_ENTROPY = ("NllLossBackward", "NllLoss2DBackward")
_MISSING = object()


class SampleMeans(NamedTuple):
    """The mean loss of each sample, and over how many tokens; on the device."""

    losses: torch.Tensor
    counts: torch.Tensor


def means_from_graph(losses: Iterable[Any], samples: int) -> SampleMeans | None:
    """Take the losses apart that backward is about to begin from.

    Parameters
    ----------
    losses
        The tensors that backward is called on.
    samples
        How many samples the batch has.

    Returns
    -------
    SampleMeans or None
        ``None`` where no cross entropy over these samples is near the loss, or where
        looking would call somebody's hook on saved tensors (which may compute again).

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.loss.loss_graph import means_from_graph
    >>> logits = torch.zeros(4, 2, requires_grad=True)
    >>> labels = torch.tensor([0, 1, -100, 0])
    >>> loss = torch.nn.functional.cross_entropy(logits, labels)
    >>> means_from_graph([loss], 2)
    SampleMeans(losses=tensor([0.6931, 0.6931]), counts=tensor([2, 1]))
    """
    node = _cross_entropy([getattr(each, "grad_fn", None) for each in losses])
    if node is None or not (is_plain(node, "self") and is_plain(node, "target")):
        return None
    # What a node has saved torch documents, by names that begin with an underscore.
    logs, targets = node._saved_self.detach(), node._saved_target  # noqa: SLF001
    if logs.dim() not in (2, 4) or targets.numel() % samples:
        return None
    ignored = node._saved_ignore_index  # noqa: SLF001
    ignored = ignored - 2**64 if ignored >= 2**63 else ignored
    counts = targets != ignored
    index = torch.where(counts, targets, 0).unsqueeze(1)
    values = torch.where(counts, -logs.gather(1, index).squeeze(1).float(), 0.0)
    return means_of(values.reshape(samples, -1), counts.reshape(samples, -1))


def means_from_output(output: Any, samples: int) -> SampleMeans | None:
    """Take apart what a model with a fused head puts out: log p of each label."""
    logs = getattr(output, "log_probs", None)
    mask = getattr(output, "label_mask", None)
    if not isinstance(logs, torch.Tensor) or not isinstance(mask, torch.Tensor):
        return None
    if logs.dim() != 2 or len(logs) != samples:
        return None
    return means_of(-logs.detach().float() * mask, mask)


def spread_of(weights: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Tell how differently tokens are weighed: 0 for alike, up to 2; on the device.

    Parameters
    ----------
    weights
        The gradient of the loss with respect to the loss of each token.
    mask
        Which tokens count.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.loss.loss_graph import spread_of
    >>> spread_of(torch.tensor([0.5, 0.0, -0.5]), torch.tensor([True, False, True]))
    tensor(2.)
    """
    mask, inf = mask.to(torch.bool), torch.inf
    low = weights.masked_fill(~mask, inf).amin()
    high = weights.masked_fill(~mask, -inf).amax()
    return (high - low) / torch.maximum(high.abs(), low.abs())


def means_of(values: torch.Tensor, counts: torch.Tensor) -> SampleMeans:
    """Average each row over what counts; NaN for a row without a label."""
    many = counts.sum(1)
    return SampleMeans(values.sum(1) / many, many)


def _cross_entropy(nodes: Iterable[Any]) -> Any:
    """Find the nearest cross entropy behind some nodes of the graph."""
    waiting, seen = deque(node for node in nodes if node is not None), 0
    while waiting and seen < NODES:
        node = waiting.popleft()
        seen += 1
        if node.name().rstrip("0123456789") in _CROSS_ENTROPY:
            return node
        waiting.extend(before for before, _ in node.next_functions if before)
    return None


def is_plain(node: Any, what: str) -> bool:
    """Tell whether a saved tensor is just there, without a hook that would bring it."""
    saved = getattr(node, f"_raw_saved_{what}", None)
    return getattr(saved, "unpack_hook", _MISSING) is None
