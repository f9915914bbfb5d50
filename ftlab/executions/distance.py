"""How far two values of the same thing are apart, by cell."""

from collections.abc import Callable

import torch

UNIT = 0.29
"""Rounding's root mean square error in units of the last place: 1/sqrt(12)."""
EXACT = 1e-9
"""Relative distance of two results in float64 that are no longer the same; the same sum
in another order stays below 1e-13."""
_PIECE = 1 << 16
_FAR = 6e4
"""Masks write "never" as the least value of some dtype; beyond this all are alike."""


def apart(a: torch.Tensor, b: torch.Tensor, *, mask: bool = False) -> torch.Tensor:
    """Return the Euclidean distance of each cell of ``a`` to that of ``b``.

    Parameters
    ----------
    a, b
        Shape (cells, values).
    mask
        Take all values beyond 6e4 for the same.

    Returns
    -------
    torch.Tensor
        float64, shape (cells,), on the CPU. Infinite where one alone is not finite.

    Examples
    --------
    >>> import torch
    >>> from ftlab.executions.distance import apart
    >>> apart(torch.tensor([[3.0, 4.0], [1.0, float("inf")]]), torch.zeros(2, 2))
    tensor([5., inf], dtype=torch.float64)
    """
    if mask:
        a, b = a.clamp(-_FAR, _FAR), b.clamp(-_FAR, _FAR)
    return _in_pieces(_apart, a.detach(), b.detach())


def _apart(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    distance = torch.linalg.vector_norm(a - b, dim=-1)
    if bool(distance.isfinite().all()):
        return distance
    same = (a == b) | (a.isnan() & b.isnan())
    distance = torch.linalg.vector_norm(torch.where(same, 0.0, a - b), dim=-1)
    return distance.nan_to_num(torch.inf, torch.inf)


def size(values: torch.Tensor, *, mask: bool = False) -> torch.Tensor:
    """Return the norm of each cell, float64 on the CPU, of what is finite in it."""
    values = values.clamp(-_FAR, _FAR) if mask else values
    return _in_pieces(_size, values.detach())


def _size(values: torch.Tensor) -> torch.Tensor:
    norms = torch.linalg.vector_norm(values, dim=-1)
    if bool(norms.isfinite().all()):
        return norms
    return torch.linalg.vector_norm(values.nan_to_num(0.0, 0.0, 0.0), dim=-1)


def _in_pieces(
    function: Callable[..., torch.Tensor], *tensors: torch.Tensor
) -> torch.Tensor:
    """Take norms of a few values at a time: fresh memory costs more than arithmetic."""
    tensors = tuple(
        torch.view_as_real(t.resolve_conj()).flatten(-2) if t.is_complex() else t
        for t in tensors
    )
    cells, values = tensors[0].shape
    parts = []
    for low in range(0, cells, max(1, _PIECE // max(values, 1))):
        rows = [t[low : low + max(1, _PIECE // max(values, 1))] for t in tensors]
        columns = [
            function(*(r[:, at : at + _PIECE].to("cpu", torch.float64) for r in rows))
            for at in range(0, max(values, 1), _PIECE)
        ]
        many = len(columns) > 1
        parts.append(torch.stack(columns).norm(dim=0) if many else columns[0])
    return torch.cat(parts) if parts else torch.zeros(0, dtype=torch.float64)


def unit(dtype: torch.dtype) -> float:
    """Return the relative error that storing a value in ``dtype`` makes on average."""
    return UNIT * torch.finfo(dtype).eps if dtype.is_floating_point else 0.0
