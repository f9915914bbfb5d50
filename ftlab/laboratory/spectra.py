"""Singular values and directions of B A, which is never put together."""

from typing import NamedTuple

import torch


class Spectrum(NamedTuple):
    """Singular value decomposition of scaling x B A, float64.

    Attributes
    ----------
    values
        Largest first, shape (r,).
    left, right
        Directions of the output, shape (out, r), and of the input, shape (in, r).
    """

    values: torch.Tensor
    left: torch.Tensor
    right: torch.Tensor


def spectrum(a: torch.Tensor, b: torch.Tensor, scaling: float) -> Spectrum:
    """Decompose scaling x B A by QR of the two factors: out x in is never formed.

    Parameters
    ----------
    a, b
        Shapes (r, in) and (out, r).
    scaling
        Factor of the product; its sign goes into the directions.

    Returns
    -------
    Spectrum
        All NaN where a factor is not finite.

    Examples
    --------
    >>> import torch
    >>> from ftlab.laboratory.spectra import spectrum
    >>> a, b = torch.eye(2, 5), torch.diag(torch.tensor([3.0, 1.0]))
    >>> spectrum(a, b, 2.0).values
    tensor([6., 2.], dtype=torch.float64)
    """
    wide_a, wide_b = (each.detach().cpu().double() for each in (a, b))
    if not bool(wide_a.isfinite().all() and wide_b.isfinite().all()):
        values = torch.full((a.shape[0],), torch.nan, dtype=torch.float64)
        return Spectrum(values, torch.nan * wide_b, torch.nan * wide_a.T)
    q_in, r_in = torch.linalg.qr(wide_a.T)
    q_out, r_out = torch.linalg.qr(wide_b)
    left, values, right = torch.linalg.svd(scaling * (r_out @ r_in.T))
    kept = min(len(values), a.shape[0])
    return Spectrum(values[:kept], (q_out @ left)[:, :kept], (q_in @ right.T)[:, :kept])


Factors = tuple[torch.Tensor, torch.Tensor]
"""A and B, shapes (r, in) and (out, r), the scaling multiplied in."""


def distance(one: Factors, other: Factors) -> float:
    """Return the norm of one B A less another, by QR as `spectrum`."""
    (a, b), (c, d) = one, other
    return float(spectrum(torch.cat((a, c)), torch.cat((b, -d), 1), 1.0).values.norm())
