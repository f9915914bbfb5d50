"""What the labels of a loss hold: the most common one, and those that weigh nothing."""

import torch


def common_label(
    labels: torch.Tensor,
    counted: torch.Tensor,
    classes: int,
    tokens: torch.Tensor | None,
) -> torch.Tensor:
    """Return the most common label, on its device, without waiting for it.

    Parameters
    ----------
    labels, counted
        What the loss compares with, and which of it counts.
    classes
        How many there are.
    tokens
        Ids that the model reads; ``None`` where they are not known.

    Returns
    -------
    torch.Tensor
        Float32: the label, its share of those that count, and the share of ``tokens``
        that are it; NaN without labels or tokens.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.loss.label_counts import common_label
    >>> labels = torch.tensor([0, 0, 0, 5])
    >>> common_label(labels, labels >= 0, 8, torch.tensor([[3, 4, 0, 5]])).tolist()
    [0.0, 0.75, 0.25]
    """
    flat, counts = labels.flatten(), counted.flatten()
    places = torch.where(counts, flat.clamp(0, classes - 1), classes)
    table = torch.zeros(classes + 1, dtype=torch.int64, device=labels.device)
    table.scatter_add_(0, places, torch.ones_like(places))
    most, label = table[:classes].max(0)
    read = most.new_full((), torch.nan, dtype=torch.float32)
    if tokens is not None:
        read = (tokens.to(labels.device) == label).float().mean()
    share = most / counts.sum()
    return torch.stack([label.float(), share.float(), read])


def weightless(
    weight: torch.Tensor | None, labels: torch.Tensor, counted: torch.Tensor
) -> torch.Tensor:
    """Give the share of labels that count whose class weighs nothing."""
    if weight is None:
        return torch.full((), torch.nan, device=labels.device)
    nothing = (weight == 0)[labels.clamp(0, len(weight) - 1)] & counted
    return (nothing.sum() / counted.sum()).float()
