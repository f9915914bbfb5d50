"""What is left of an adapter's effect."""

import torch

LEFT = 0.5
"""Share of an adapter's effect on logits below which it is lost rather than rounded."""


def share_left(
    adapted: torch.Tensor, base: torch.Tensor, again: torch.Tensor
) -> float | None:
    """Return the share of an adapter's effect that another model still has.

    Parameters
    ----------
    adapted, base, again
        Logits of base and adapter, of the base alone, and of the other model, of one
        shape.

    Returns
    -------
    float
        1.0 where all of it is there, ``None`` where there is no effect.

    Examples
    --------
    >>> import torch
    >>> from ftlab.executions.effects import share_left
    >>> base, adapted = torch.zeros(2), torch.tensor([0.0, 2.0])
    >>> share_left(adapted, base, torch.tensor([0.5, 1.0]))
    0.5
    """
    effect = (adapted - base).double().flatten()
    left = (again - base).double().flatten()
    size = float(effect @ effect)
    return float(left @ effect) / size if size else None
