"""Norm and effective rank of B A from the Gram matrices of its factors.

The product is never formed. With ``G_A = A A^T`` and ``G_B = B^T B`` (both r x r), the
squared singular values of B A are the eigenvalues of ``G_A^(1/2) G_B G_A^(1/2)``. They
are the squares of what is asked for, so float32 would lose singular values below 3e-4
of the largest one: the Gram matrices are formed and carried in float64.

A device that must not be waited for only multiplies; the eigenvalues are taken on the
host. The read-back is float32, hence each float64 travels as the sum of two.
"""

import numpy as np
import torch
from numpy.typing import NDArray

Float64 = NDArray[np.float64]


def gram(factor: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Gram matrices of a stack of factors ``(n, r, width)``, split off their scale.

    Returns
    -------
    norms, grams
        Frobenius norms ``(n,)`` and Gram matrices ``(n, r, r)`` divided by the squared
        norms, so that tiny factors do not vanish in float32; both float64.
    """
    if factor.device.type == "mps":
        factor = factor.cpu()  # Apple's GPUs have no float64
    wide = factor.double()
    products = torch.bmm(wide, wide.mT)
    squares = products.diagonal(dim1=1, dim2=2).sum(1)
    safe = torch.where(squares > 0, squares, torch.ones_like(squares))
    return squares.sqrt(), products / safe[:, None, None]


def cosine(grams_a: torch.Tensor, grams_b: torch.Tensor) -> torch.Tensor:
    """Norm of B A where A and B have norm one: ``(n,)``, float64."""
    return (grams_a * grams_b).sum((1, 2)).clamp(min=0).sqrt()


def pack(matrices: torch.Tensor) -> torch.Tensor:
    """Lay symmetric float64 ``(n, r, r)`` out as float32 ``(n, r (r + 1))``."""
    r = matrices.shape[-1]
    rows, columns = torch.triu_indices(r, r, device=matrices.device)
    upper = matrices[:, rows, columns]
    high = upper.float()
    return torch.cat((high, (upper - high).float()), 1)


def unpack(flat: NDArray[np.float32], r: int) -> Float64:
    """Restore what `pack` laid out."""
    high, low = np.split(flat.astype(np.float64), 2, axis=1)
    matrices = np.zeros((len(flat), r, r))
    rows, columns = np.triu_indices(r)
    matrices[:, rows, columns] = high + low
    matrices[:, columns, rows] = high + low
    return matrices


def singular_values(grams_a: Float64, grams_b: Float64) -> Float64:
    """Singular values of each B A, up to one factor for each, largest first.

    Parameters
    ----------
    grams_a, grams_b
        Gram matrices ``(n, r, r)``; their scale does not matter.

    Returns
    -------
    numpy.ndarray
        ``(n, r)``; NaN for a product that is not finite.
    """
    values = np.full(grams_a.shape[:2], np.nan)
    finite = np.isfinite(grams_a).all((1, 2)) & np.isfinite(grams_b).all((1, 2))
    if not finite.any():
        return values
    # Not NumPy: its threads wait for each other for ever so long on a busy machine.
    squares, vectors = torch.linalg.eigh(torch.from_numpy(grams_a[finite]))
    half = vectors * squares.clamp(min=0).sqrt()[:, None, :]
    products = half.mT @ torch.from_numpy(grams_b[finite]) @ half
    values[finite] = torch.linalg.eigvalsh(products).clamp(min=0).sqrt().flip(1).numpy()
    return values


def effective_rank(values: Float64) -> Float64:
    """Exponential of the entropy of the normalised singular values of each B A.

    1 where one direction carries all, r where all carry the same; 0 for a product that
    is zero, NaN for one that is not finite. Roy and Vetterli, "The effective rank: a
    measure of effective dimensionality", EUSIPCO 2007.

    Parameters
    ----------
    values
        Singular values ``(n, r)``; their scale does not matter.
    """
    total = values.sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = values / total[:, None]
        terms = np.where(shares > 0, shares * np.log(shares), 0.0)
    ranks: Float64 = np.where(total > 0, np.exp(-terms.sum(1)), total)
    return ranks


def energy_beyond(values: Float64, rank: int) -> Float64:
    """Share of the squared singular values that is not among the ``rank`` largest.

    What is lost of B A, squared, when it is cut to that rank; 0 for a product that is
    zero, NaN for one that is not finite.
    """
    squares = values**2
    beyond, total = squares[:, rank:].sum(1), squares.sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share: Float64 = np.where(total == 0, 0.0, beyond / total)
    return share


def rank_of(values: Float64, share: float) -> Float64:
    """How many of the largest singular values hold a share of the energy.

    0 for a product that is zero, NaN for one that is not finite.
    """
    energy = np.cumsum(values**2, 1)
    total = energy[:, -1:]
    # what rounding has left out of the sum is nobody's direction
    enough = energy >= share * total * (1 - 1e-12)
    return np.where(total[:, 0] > 0, enough.argmax(1) + 1.0, total[:, 0])
