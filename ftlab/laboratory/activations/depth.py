"""The blocks of a model, and what each returns."""

from collections.abc import Iterator

import torch

from ftlab.executions.tokens import Grid
from ftlab.laboratory.activations.hearing import Heard
from ftlab.records.activation import BlockActivations

FAR = 6.0
"""Standard deviations from which on a value is an outlier: a normal distribution has
2e-9 beyond them, and a value in a few billions is none."""


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
        if any(path.startswith(f"{each}.") for each in found):
            continue
        if isinstance(module, torch.nn.ModuleList | torch.nn.Sequential):
            inner = list(module.named_children())
            deep = all(next(each.children(), None) is not None for _, each in inner)
            alike = len({type(each) for _, each in inner}) == 1
            if inner and deep and (alike or isinstance(module, torch.nn.ModuleList)):
                found |= {f"{path}.{name}".strip("."): e for name, e in inner}
    return found


def described(
    place: str, output: torch.Tensor, grid: Grid | None, before: float
) -> BlockActivations:
    """Measure what a block returns."""
    layout = grid.layout(output) if grid is not None else None
    cells = output.detach()
    if grid is not None and layout in ("rows", "flat"):
        cells = grid.cells(cells, layout)
    cells = cells.reshape(-1, cells.shape[-1]).float()
    energy = cells.square().mean()
    rms, std = float(energy.sqrt()), float(cells.std())
    # the largest deviation is of the values; their mean is near 0 in every model
    far = float(((cells - cells.mean()).abs() > FAR * std).double().mean())
    common = float(cells.mean(0).square().mean() / energy) if rms else 0.0
    return BlockActivations(
        place,
        rms,
        std,
        float(cells.abs().max()),
        far,
        rms / before if before > 0 else float("nan"),
        common,
    )


def units_of(heard: Heard) -> Iterator[tuple[str, float]]:
    """Yield what activations and attention of a block were like, by field."""
    if heard.entropies:
        yield "entropy", sum(heard.entropies) / len(heard.entropies)
    if not heard.units:
        return
    most = max(len(each.low) for each in heard.units)
    wide = [each for each in heard.units if len(each.low) == most]
    yield "units", most
    dead = [(e.high <= e.off[0]).double().mean() for e in wide if not _bounded(e.off)]
    bound = [
        ((e.high <= e.off[0]) | (e.low >= e.off[1])).double().mean()
        for e in wide
        if _bounded(e.off)
    ]
    if dead:
        yield "dead", float(torch.stack(dead).mean())
    if bound:
        yield "saturated", float(torch.stack(bound).mean())


def _bounded(off: tuple[float, float]) -> bool:
    return off[1] != float("inf")
