"""Distances in units of what rounding alone makes of them."""

import torch

from ftlab.executions.distance import apart, size, unit
from ftlab.executions.listening import Place
from ftlab.executions.passes import Beside, Distances, Measured


class Ratios:
    """What one execution is apart, over what rounding moves.

    Parameters
    ----------
    found
        The execution that is asked about.
    floor
        The other side in float64, beside itself as it is.
    stored
        An execution of the first side as it is: which dtypes it has.

    Attributes
    ----------
    found
        The execution that was asked about.
    values, gradients
        Ratios by place, float64, shape (cells,).
    """

    def __init__(
        self,
        found: Beside | Measured,
        floor: Measured,
        stored: Beside | Measured,
    ) -> None:
        self.found = found
        self.values = _ratios(found.values, floor.values, stored.values)
        self.gradients = _ratios(found.gradients, floor.gradients, stored.gradients)


def _ratios(
    found: Distances, floor: Distances, stored: Distances
) -> dict[Place, torch.Tensor]:
    made = {}
    for place, distance in found.apart.items():
        measured = floor.apart.get(place)
        if measured is None or measured.shape != distance.shape:
            continue
        stores = max(stored.units.get(place, 0.0), floor.units.get(place, 0.0))
        ratio = distance / floor_of(measured, floor.sizes[place], stores)
        made[place] = torch.where(distance == 0, 0.0, ratio).nan_to_num(0.0, torch.inf)
    return made


def over_floor(
    distance: torch.Tensor, narrow: torch.Tensor, wide: torch.Tensor
) -> torch.Tensor:
    """Return distances by cell over what rounding moves: as it is, and in float64."""
    floor = floor_of(apart(narrow, wide), size(narrow), unit(narrow.dtype))
    ratio = torch.where(distance == 0, 0.0, distance / floor)
    return ratio.nan_to_num(torch.inf, torch.inf)


def floor_of(measured: torch.Tensor, sizes: torch.Tensor, unit: float) -> torch.Tensor:
    """Return the floor of each cell, from what was measured in all.

    A single cell may come out exact by chance: its floor is at least what its tensor's
    cells have on average, relative to their size, and what storing it rounds.

    Parameters
    ----------
    measured, sizes
        Distance to the same in float64, and norm, by cell.
    unit
        Relative error of storing a value, on average.

    Examples
    --------
    >>> import torch
    >>> from ftlab.executions.floors import floor_of
    >>> floor_of(torch.tensor([0.0, 2.0]), torch.tensor([10.0, 10.0]), 0.01)
    tensor([1.4142, 2.0000])
    """
    finite = measured.isfinite()
    size = sizes[finite].norm()
    share = max(float(measured[finite].norm() / size) if size > 0 else 0.0, unit)
    return torch.maximum(measured, sizes * share)
