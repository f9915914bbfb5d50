"""What adapted layers put out in the first forward of a run, measured once."""

from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.adapter.fresh_layers import FreshLayer
from ftlab.probes.adapter.low_rank_wrappers import Wrapper
from ftlab.probes.graph.module_hook import WholeCallHook
from ftlab.probes.hooked import HookedProbe
from ftlab.probes.probe import Moment, Reading
from ftlab.records.step import Block

L = TypeVar("L", FreshLayer, Wrapper)


class FirstOutputs(HookedProbe, Generic[L]):
    """Measure layers once, in the first forward of the first step.

    Subclasses say which layers, and what is measured of one: a value per column.
    """

    light = False

    def __init__(self) -> None:
        super().__init__()
        self._waiting = True
        self._layers: dict[str, L] = {}
        self._values: dict[str, torch.Tensor] = {}

    def _layers_of(self, model: torch.nn.Module) -> Iterable[L]:
        """Yield the layers that are looked at."""
        raise NotImplementedError

    def _measure(
        self, layer: L, given: torch.Tensor, output: torch.Tensor
    ) -> torch.Tensor | None:
        """Measure one call; ``None`` where it cannot be compared."""
        raise NotImplementedError

    def _row(self, moment: Moment, layer: L) -> int:
        """Return the row of a layer."""
        raise NotImplementedError

    def _completed(self, layer: L, measured: torch.Tensor) -> torch.Tensor:
        """Add what is measured after the backward."""
        return measured

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Put hooks on the layers before the first forward."""
        if not self._waiting:
            return ()
        self._waiting = False
        if moment.step == 0:
            for each in self._layers_of(moment.subject.model):
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
                found = self._measure(self._layers[path], given, output)
            if found is not None:
                self._values[path] = found

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Take the hooks off and hand over what was measured."""
        values, self._values = self._values, {}
        known, self._layers = self._layers, {}
        self._hooks.remove()
        self.rests = not self._waiting
        if not values:
            return ()
        rows = {self._row(moment, known[path]): path for path in values}
        ids = np.array(sorted(rows), np.int32)
        paths = [rows[row] for row in ids.tolist()]
        device = values[paths[0]].device
        stack = [self._completed(known[p], values[p]).to(device) for p in paths]

        def finish(flat: NDArray[np.float32]) -> Iterable[Block]:
            names = [column.name for column in self.columns]
            table = flat.reshape(len(ids), -1).T
            columns = dict(zip(names, table, strict=True))
            yield Block(self.table, moment.step, ids, columns)

        return (Reading(torch.cat(stack), finish),)


def distance(output: torch.Tensor, base: torch.Tensor) -> torch.Tensor:
    """Return how far an output is from the base's, relative to that."""
    apart = torch.linalg.vector_norm(output.detach().float() - base.float())
    return apart / torch.linalg.vector_norm(base.float())
