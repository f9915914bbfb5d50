"""What fresh adapters of any PEFT method put out first, against the layer under them.

A method whose own default is to begin as nothing gives what the layer under it gives.
Where it does not, its tensors tell why: they are as `torch.nn.init` draws them.
"""

from collections.abc import Iterable
from typing import ClassVar

import torch

from ftlab.probes.adapter.first_outputs import FirstOutputs, distance
from ftlab.probes.adapter.fresh_layers import FreshLayer, fresh_layers
from ftlab.probes.inventory import hookable_modules
from ftlab.probes.naming import clean_name
from ftlab.probes.probe import Moment
from ftlab.records.step import Column

NORMAL = (1.0, 0.5, 0.1, 0.02, 0.01)
"""Deviations of the normal laws that adapters and base models are drawn with."""

FEW = 16
"""Tensors of fewer elements fit any law."""


class DrawnStarts(FirstOutputs[FreshLayer]):
    """Compare adapted layers with their base once, in the first forward of a run."""

    table: ClassVar[str] = "drawn"
    columns = (
        Column("off_start", "1", "Distance of the output from the base's, relative."),
        Column("off_law", "1", "Standard errors between the tensors and drawn ones."),
        Column("off_uniform", "1", "Same, as nn.Linear draws its weight."),
    )

    def _layers_of(self, model: torch.nn.Module) -> Iterable[FreshLayer]:
        return fresh_layers(hookable_modules(model))

    def _measure(
        self, layer: FreshLayer, given: torch.Tensor, output: torch.Tensor
    ) -> torch.Tensor | None:
        base = layer.of_base(given.detach())
        return distance(output, base) if base.shape == output.shape else None

    def _completed(self, layer: FreshLayer, measured: torch.Tensor) -> torch.Tensor:
        """Add the tensors' law."""
        return torch.stack([measured, *_off_laws(layer).to(measured.device)])

    def _row(self, moment: Moment, layer: FreshLayer) -> int:
        path = clean_name(layer.path)
        meta = {
            "role": "adapted",
            "adapter": layer.adapter,
            "method": layer.method,
            "field": layer.field,
            "asked": layer.asked,
            "rank": layer.rank,
            "tensors": ",".join(clean_name(f"{path}.{name}") for name in layer.tensors),
        }
        return moment.name("drawn", f"{path} [{layer.adapter}]", "adapter", meta)


def _off_laws(layer: FreshLayer) -> torch.Tensor:
    """Return how far the tensor that is least like a drawn one is, by any law and one.

    A tensor that is filled with one value fits all laws: it is no part of the question.
    """
    large = [p.detach() for p in layer.tensors.values() if p.numel() >= FEW]
    if not large:
        return torch.full((2,), torch.inf)
    return torch.stack([_errors(each.float()) for each in large]).amax(0)


def _errors(values: torch.Tensor) -> torch.Tensor:
    """Return the standard errors to the nearest law, and to the uniform one."""
    spread, error = values.std(), (2 * values.numel()) ** -0.5
    normal = torch.stack([(spread / d - 1).abs() / error for d in NORMAL]).amin()
    bound = max(values[0].numel(), 1) ** -0.5
    uniform = (spread / (bound * 3**-0.5) - 1).abs() / error
    # Training widens a uniform law: nothing that was drawn is beyond its bound.
    inside = values.abs().amax() <= bound * 1.01
    uniform = torch.where(inside, uniform, torch.inf)
    found = torch.stack([torch.minimum(normal, uniform), uniform])
    return torch.where(spread == 0, torch.zeros_like(found), found)
