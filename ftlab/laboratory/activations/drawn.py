"""Whether the values of a matrix are drawn independently, as no trained ones are."""

import math
from typing import NamedTuple

import torch

ROWS, COLUMNS = 512, 2048
"""Of a matrix that are looked at."""

CHANCE = 5.0
"""Standard deviations by which sums over rows and columns may be off."""

KURTOSES = (1.7, 3.1)
"""Of what initialisations draw: 1.8 uniform, 3 normal; truncated lies between."""

EDGE = 1.1
"""Times the largest singular value of independent values (Marchenko and Pastur)."""


class Values(NamedTuple):
    """What a parameter holds.

    Attributes
    ----------
    shape
        Number of its dimensions.
    equal_rows
        Whether all rows are the same.
    of_torch
        Whether torch's own class prescribes it.
    """

    std: float
    mean: float
    kurtosis: float
    count: int
    shape: int
    finite: bool
    equal_rows: bool
    of_torch: bool = False


def values_of(parameter: torch.Tensor) -> Values:
    """Measure a parameter."""
    tensor = parameter.detach()
    if not tensor.numel() or not bool(tensor.isfinite().all()):
        return Values(
            math.nan, math.nan, math.nan, tensor.numel(), tensor.dim(), False, False
        )
    mean, std = _mean_and_std(tensor)
    wide = _part(tensor)
    kurtosis = float(((wide - mean) / std).pow(4).mean()) if std else 0.0
    equal = tensor.dim() > 1 and len(tensor) > 1 and bool((tensor == tensor[:1]).all())
    return Values(std, mean, kurtosis, tensor.numel(), tensor.dim(), True, equal)


def _mean_and_std(tensor: torch.Tensor) -> tuple[float, float]:
    flat = tensor.reshape(-1)
    if bool((flat == flat[0]).all()):
        return float(flat[0]), 0.0
    mean = float(flat.mean(dtype=torch.float64))
    square = sum(
        float((part.double() - mean).square().sum()) for part in flat.split(1 << 22)
    )
    return mean, math.sqrt(square / len(flat))


def is_drawn(parameter: torch.Tensor) -> bool:
    """Say whether a matrix's values are plainly drawn, each for itself.

    Training leaves directions: rows and columns of other sizes than chance gives, or a
    singular value beyond what independent values have.

    Examples
    --------
    >>> import torch
    >>> from ftlab.laboratory.activations.drawn import is_drawn
    >>> drawn = torch.randn(64, 64, generator=torch.Generator().manual_seed(0))
    >>> is_drawn(drawn), is_drawn(drawn + 0.4 * drawn[:, :1] @ drawn[:1])
    (True, False)
    """
    tensor = parameter.detach()
    if tensor.dim() != 2 or min(tensor.shape) < 8:
        return False
    part = _part(tensor)
    std = float(part.std())
    if not std or not math.isfinite(std):
        return False
    part = (part - part.mean()) / std
    square = part.square()
    kurtosis = float(square.square().mean())
    chance = math.sqrt(24 / part.numel())
    if not KURTOSES[0] - CHANCE * chance < kurtosis < KURTOSES[1] + CHANCE * chance:
        return False
    for over in (0, 1):
        count, other = part.shape[1 - over], part.shape[over]
        spread = float((square.mean(over) - 1).square().sum()) * other / (kurtosis - 1)
        if abs(spread - count) > CHANCE * math.sqrt(2 * count):
            return False
    rows, columns = part.shape
    largest = float(torch.linalg.matrix_norm(part.float(), 2))
    return largest <= EDGE * (math.sqrt(rows) + math.sqrt(columns))


def _part(tensor: torch.Tensor) -> torch.Tensor:
    """Return some rows and columns of a matrix, or all of a small tensor."""
    if tensor.dim() != 2:
        return tensor.reshape(-1)[: ROWS * COLUMNS].double()
    return tensor[:ROWS, :COLUMNS].double()
