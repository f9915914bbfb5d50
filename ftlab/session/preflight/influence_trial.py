"""Whether what gets no gradient changes the loss all the same, by changing it.

An unused head changes nothing: it is harmless. Where the loss changes, the values reach
it and the gradient does not come back: the graph is cut on the way, or an operation in
it has no derivative.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ftlab.records.names import NameRecord
from ftlab.rules.reading.outside import held_outside
from ftlab.rules.reading.tensors import records_of
from ftlab.rules.reasons.missing import Missing
from ftlab.rules.reasons.reach import reason_of
from ftlab.runlog.run import Run

MOST = 8
"""Layers that are tried; each costs a step."""

LIMIT = 1e-5
"""Change of the loss, over the loss, from which on it depends on what was changed.

Measured in float32 on tiny models: 2.5e-4 for a projector whose output goes through
numpy, 7e-3 for weights that are rounded, 7e-2 for a detached predictor; 0 for the key
biases of OPT and BERT, which cancel in the softmax.
"""

SMALLEST = 0.02
"""Size of the noise that is added where the weights themselves are smaller."""

NOISE = 10.0
"""How many times the difference of two equal runs another one must be."""


@dataclass(frozen=True, slots=True)
class Influence:
    """Tensors of one layer that get no gradient although the loss depends on them.

    Attributes
    ----------
    lost
        Their names, in the model's order.
    none
        Whether ``.grad`` was ``None``; otherwise it was exactly 0.
    before, after
        The loss as it is, and after noise was added to the tensors.
    """

    lost: tuple[str, ...]
    none: bool
    before: float
    after: float = 0.0


def suspects(run: Run) -> list[Influence]:
    """List, by layer, what no dry step gave a gradient though it was in the graph."""
    has, sizes = run.matrix("has_grad"), run.matrix("grad_l2")
    if not has.ids.size or sizes.values.shape != has.values.shape:
        return []
    names = records_of(run, has.ids)
    got = ((has.values > 0) & has.known).any(axis=0)
    moved = got & ~((sizes.values == 0) | (has.values == 0)).all(axis=0)
    outside = held_outside(run)
    usable = np.array([name.name not in outside for name in names], bool)
    reached = [name for name, there in zip(names, moved, strict=True) if there]
    if not reached:
        return []
    found = []
    for none, mask in ((True, ~got & usable), (False, got & ~moved & usable)):
        for lost in _by_layer(names, mask):
            if not none or _in_graph(run, lost, reached):
                found.append(Influence(tuple(n.name for n in lost), none, 0.0))
    return found[:MOST]


def influences(
    found: Sequence[Influence],
    weights: Mapping[str, torch.Tensor],
    loss: Callable[[Sequence[torch.Tensor]], float],
) -> Iterator[Influence]:
    """Yield the suspects on which the loss depends.

    Parameters
    ----------
    weights
        By name.
    loss
        Puts everything back, adds noise to the tensors that it is given, and returns
        the loss of a step.
    """
    before = loss(()) if found else 0.0
    for each in found:
        after = loss([weights[name] for name in each.lost if name in weights])
        if not _differ(before, after):
            continue
        chance = abs(loss(()) - before)
        if abs(after - before) > NOISE * chance:
            yield dataclasses.replace(each, before=before, after=after)


def add_noise(tensors: Sequence[torch.Tensor]) -> None:
    """Add noise of each tensor's own size, drawn apart from the user's numbers."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for tensor in tensors:
            noise = torch.randn(tensor.shape, generator=generator).to(tensor)
            size = float(tensor.float().pow(2).mean().sqrt())
            tensor.add_(noise * max(size, SMALLEST))


def _differ(before: float, after: float) -> bool:
    apart = abs(after - before)
    return bool(np.isfinite(apart)) and apart > LIMIT * max(abs(before), 1e-12)


def _by_layer(
    names: Sequence[NameRecord], mask: np.ndarray
) -> Iterator[list[NameRecord]]:
    layers: dict[str, list[NameRecord]] = defaultdict(list)
    for name, is_lost in zip(names, mask.tolist(), strict=True):
        if is_lost:
            layers[name.layer].append(name)
    yield from layers.values()


def _in_graph(
    run: Run, lost: Sequence[NameRecord], reached: Sequence[NameRecord]
) -> bool:
    """Tell whether these ran in the graph; a teacher under no_grad is meant so."""
    reason = reason_of(run, Missing(none=True, lost=lost, reached=reached))
    return reason.kind == "output-not-used"
