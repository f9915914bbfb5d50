"""The blocks of a model, and what each returns."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from ftlab.executions.tokens import Grid
from ftlab.laboratory.activations.hearing import Units
from ftlab.records.activation import BlockActivations

FAR = 6.0
"""Standard deviations from which on a value is an outlier: a normal distribution has
2e-9 beyond them."""


def blocks_in(model: torch.nn.Module) -> dict[str, torch.nn.Module]:
    """Return the blocks of a model by path: modules of one class in a row.

    Examples
    --------
    >>> import torch
    >>> from ftlab.laboratory.activations.depth import blocks_in
    >>> layer = torch.nn.TransformerEncoderLayer(8, 2, 8, batch_first=True)
    >>> list(blocks_in(torch.nn.TransformerEncoder(layer, 2)))
    ['layers.0', 'layers.1']
    """
    found: dict[str, torch.nn.Module] = {}
    for path, module in model.named_modules():
        listed = isinstance(module, torch.nn.ModuleList)
        if not listed and not isinstance(module, torch.nn.Sequential):
            continue
        inner = dict(module.named_children())
        deep = all(any(True for _ in each.children()) for each in inner.values())
        alike = len({type(each) for each in inner.values()}) == 1
        within = any(path.startswith(f"{each}.") for each in found)
        if inner and deep and not within and (alike or listed):
            found |= {f"{path}.{name}".strip("."): e for name, e in inner.items()}
    return found


def described(
    place: str, output: torch.Tensor, grid: Grid | None, before: float
) -> BlockActivations:
    """Measure what a block returns; ``before`` is the RMS of the one before."""
    layout = grid.layout(output) if grid is not None else None
    cells = output.detach()
    if grid is not None and layout in ("rows", "flat"):
        cells = grid.cells(cells, layout)
    cells = cells.reshape(-1, cells.shape[-1]).float()
    energy = cells.square().mean()
    rms, std = float(energy.sqrt()), float(cells.std())
    far = float(((cells - cells.mean()).abs() > FAR * std).double().mean())
    common = float(cells.mean(0).square().mean() / energy) if rms else 0.0
    growth = rms / before if before > 0 else float("nan")
    largest = float(cells.abs().max())
    return BlockActivations(place, rms, std, largest, far, growth, common)


def units_of(heard: Sequence[Units]) -> Iterator[tuple[str, Any]]:
    """Yield what the widest activations of a block were like, by field."""
    most = max((len(each.low) for each in heard), default=0)
    if not most:
        return
    yield "units", most
    shares: dict[str, list[float]] = {"dead": [], "saturated": []}
    for low, high, (off, bound) in (each for each in heard if len(each.low) == most):
        still = (high <= off) | (low >= bound)
        name = "dead" if bound == float("inf") else "saturated"
        shares[name].append(float(still.double().mean()))
    yield from ((name, sum(each) / len(each)) for name, each in shares.items() if each)
