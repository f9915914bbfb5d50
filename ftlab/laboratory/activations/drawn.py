"""Whether the values of a matrix are drawn independently, as no trained ones are."""

import math
from typing import NamedTuple

import torch

ROWS, COLUMNS = 256, 512
"""Of a matrix that are looked at."""

SAMPLE = 1 << 21
"""Values of which mean and standard deviation are taken, where there are more."""

CHANCE = 5.0
"""Standard deviations by which sums over rows and columns may be off."""

KURTOSES = (1.7, 3.1)
"""Of what initialisations draw: 1.8 uniform, 3 normal; truncated lies between."""

EDGE = 1.1
"""Times the largest singular value of independent values (Marchenko and Pastur)."""


class Values(NamedTuple):
    """What a parameter holds, and the smaller side of it as a matrix.

    ``of_torch``: torch's own class prescribes it.
    """

    std: float
    mean: float
    kurtosis: float
    size: int
    side: int
    finite: bool
    equal_rows: bool
    of_torch: bool = False


def values_of(parameter: torch.Tensor) -> Values:
    """Measure a parameter."""
    flat = parameter.detach().reshape(-1)
    size, side = len(flat), min(parameter.shape[-2:]) if parameter.dim() > 1 else 0
    if not size or not bool(flat.isfinite().all()):
        return Values(math.nan, math.nan, math.nan, size, side, False, False)
    flat = flat[:: size // SAMPLE | 1]  # an odd stride comes by all columns
    if bool((flat == flat[0]).all()) and bool((parameter == parameter.max()).all()):
        return Values(0.0, float(flat[0]), 0.0, size, side, True, True)
    mean = float(flat.mean(dtype=torch.float64))
    std = float(flat.double().std(correction=0))
    kurtosis = float(((_part(parameter) - mean) / std).pow(4).mean())
    first = parameter[:2] if side > 1 else parameter
    equal = side > 1 and bool((first == first[:1]).all())
    equal = equal and bool((parameter == first[:1]).all())
    return Values(std, mean, kurtosis, len(flat), side, True, equal)


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
    if parameter.dim() != 2 or min(parameter.shape) < 8:
        return False
    part = _part(parameter)
    std = float(part.std())
    if not std or not math.isfinite(std):
        return False
    part = (part - part.mean()) / std
    square = part.square()
    kurtosis = float(square.square().mean())
    chance = CHANCE * math.sqrt(24 / part.numel())
    if not KURTOSES[0] - chance < kurtosis < KURTOSES[1] + chance:
        return False
    for over in (0, 1):
        count, other = part.shape[1 - over], part.shape[over]
        spread = float((square.mean(over) - 1).square().sum()) * other / (kurtosis - 1)
        if abs(spread - count) > CHANCE * math.sqrt(2 * count):
            return False
    edge = sum(math.sqrt(each) for each in part.shape)
    return float(torch.linalg.matrix_norm(part.float(), 2)) <= EDGE * edge


def _part(parameter: torch.Tensor) -> torch.Tensor:
    """Return some rows and columns of a matrix, or some of another tensor."""
    if parameter.dim() != 2:
        return parameter.detach().reshape(-1)[: ROWS * COLUMNS].double()
    return parameter.detach()[:ROWS, :COLUMNS].double()
