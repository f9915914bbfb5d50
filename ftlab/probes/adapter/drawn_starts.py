"""What fresh adapters of any PEFT method put out first, against the layer under them.

A method whose own default is to begin as nothing gives what the layer under it gives.
Where it does not, its tensors tell why: they are as `torch.nn.init` draws them.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.adapter.fresh_layers import FreshLayer, fresh_layers
from ftlab.probes.graph.module_hook import WholeCallHook
from ftlab.probes.inventory import hookable_modules
from ftlab.probes.naming import clean_name
from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.subject import Subject
from ftlab.records.handle import Handle, HandleStack
from ftlab.records.step import Block, Column

NORMAL = (1.0, 0.5, 0.1, 0.02, 0.01)
"""Deviations of the normal laws that adapters and base models are drawn with."""

FEW = 16
"""Tensors of fewer elements fit any law."""


class DrawnStarts(Probe):
    """Compare adapted layers with their base once, in the first forward of a run."""

    name: ClassVar[str] = "drawn_starts"
    table: ClassVar[str] = "drawn"
    columns = (
        Column("off_start", "1", "Distance of the output from the base's, relative."),
        Column("off_law", "1", "Standard errors between the tensors and drawn ones."),
        Column("off_uniform", "1", "Same, as nn.Linear draws its weight."),
    )

    def __init__(self) -> None:
        self._hooks = HandleStack()
        self._waiting = True
        self._layers: dict[str, FreshLayer] = {}
        self._values: dict[str, torch.Tensor] = {}

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Take the hooks off at the end."""
        return [self._hooks]

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Put hooks on the layers before the first forward."""
        if not self._waiting:
            return ()
        self._waiting = False
        if moment.step == 0:
            for each in fresh_layers(hookable_modules(moment.subject.model)):
                self._layers[each.path] = each
                hook = WholeCallHook(self.see, each.module, each.path)
                self._hooks.add(each.module.register_forward_hook(hook, prepend=True))
        return ()

    def see(self, path: str, seen: tuple[Any, Any]) -> None:
        """Measure one layer, the first time that it is called."""
        inputs, output = seen
        if path in self._values or not inputs or not isinstance(output, torch.Tensor):
            return
        given = inputs[0]
        if isinstance(given, torch.Tensor) and not given.is_meta:
            with torch.no_grad():
                base = self._layers[path].of_base(given.detach())
                if base.shape == output.shape:
                    self._values[path] = _distance(output.detach(), base)

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Take the hooks off and hand over what was measured, with the tensors' law."""
        values, self._values = self._values, {}
        known, self._layers = self._layers, {}
        self._hooks.remove()
        self.rests = not self._waiting
        if not values:
            return ()
        rows = {_row(moment, known[path]): path for path in values}
        ids = np.array(sorted(rows), np.int32)
        paths = [rows[row] for row in ids.tolist()]
        device = values[paths[0]].device
        off = torch.stack([values[path].to(device) for path in paths])
        laws = torch.stack([_off_laws(known[path]).to(device) for path in paths], 1)

        def finish(flat: NDArray[np.float32]) -> Iterable[Block]:
            names = [column.name for column in self.columns]
            columns = dict(zip(names, flat.reshape(len(names), -1), strict=True))
            yield Block(self.table, moment.step, ids, columns)

        return (Reading(torch.cat([off, laws.flatten()]), finish),)


def _distance(output: torch.Tensor, base: torch.Tensor) -> torch.Tensor:
    apart = torch.linalg.vector_norm(output.float() - base.float())
    return apart / torch.linalg.vector_norm(base.float())


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


def _row(moment: Moment, layer: FreshLayer) -> int:
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
