"""How often batch norms gather statistics: in forward, and once more in backward.

A checkpointed block runs again in backward, and a batch norm in it takes the same batch
into its running statistics a second time. Its own count of batches tells. Beside an
adapter it also tells which statistics move that an adapter's file does not hold, and
without one, how far they move in parts of the model that are frozen.
"""

import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.adapter.adapter_tree import holders
from ftlab.probes.frozen.frozen_statistics import EARLY, FrozenStatistics
from ftlab.probes.graph.module_hook import ModuleHook
from ftlab.probes.hooked import HookedProbe
from ftlab.probes.modes.mode_parts import BATCH_NORMS
from ftlab.probes.naming import clean_name
from ftlab.probes.probe import Moment, Reading, Tensors
from ftlab.probes.schedule import every
from ftlab.probes.taps.forward import innermost
from ftlab.records.step import Block, Column

_COPY = ".modules_to_save."
"""Stands in the path of a module that an adapter keeps a copy of."""

Norms = list[tuple[str, "weakref.ref[torch.nn.Module]"]]


class RunningStatistics(HookedProbe):
    """Read the counters of batch norms before and after forward, and after backward."""

    light = False
    table: ClassVar[str] = "statistics"
    columns: ClassVar[Sequence[Column]] = (
        Column("gathered", "1", "Batches that it took into its statistics in forward."),
        Column("gathered_again", "1", "Batches that it took in backward."),
        Column("shifted", "1", "Move of a frozen part's means, in deviations."),
    )

    def __init__(self, interval: int = 16) -> None:
        super().__init__()
        self._due = every(interval)
        self._tensors: Tensors | None = None
        self._all: Norms = []
        self._norms: Norms = []
        self._counts: list[torch.Tensor] = []
        self._unsaved: set[str] = set()
        self._frozen = FrozenStatistics()

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Read the counters before the model runs."""
        self._hooks.remove()
        self._counts = []
        early = self._frozen.norms and moment.step < EARLY
        if not (self._due(moment.step) or early):
            return ()
        root = innermost(moment.subject.model)
        if moment.tensors is not self._tensors:
            self._tensors, self._all = moment.tensors, _norms(root)
            self._unsaved = _unsaved(root, self._all)
            self._frozen.look(root, self._all)
        self._norms = [each for each in self._all if _gathers(each[1]())]
        if self._norms:
            self._counts = [_read(self._norms)]
            hook = ModuleHook(self.after_forward, root, "")
            self._hooks.add(root.register_forward_hook(hook))
        return ()

    def after_forward(self, _path: str, _output: object) -> None:
        """Read them once more; of several forwards the last one counts."""
        self._counts = [*self._counts[:1], _read(self._norms)]

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Compare with what they are after backward."""
        self._hooks.remove()
        counts, self._counts = self._counts, []
        if len(counts) < 2:
            return ()
        before, between = counts
        after = _read(self._norms)
        names, unsaved = [path for path, _ in self._norms], self._unsaved
        frozen = self._frozen

        def finish(values: NDArray[np.float32]) -> Iterable[Block]:
            first, again, shifted = values.reshape(3, -1)
            kept = unsaved | set(frozen.norms)
            rows = {
                moment.name(
                    "statistics",
                    name,
                    "module",
                    {"unsaved": name in unsaved} | frozen.part_of(name),
                ): n
                for n, name in enumerate(names)
                if again[n] > 0 or (first[n] > 0 and name in kept)
            }
            if rows:
                ids = np.array(sorted(rows), np.int32)
                order = [rows[row] for row in ids.tolist()]
                columns = {
                    "gathered": first[order],
                    "gathered_again": again[order],
                    "shifted": shifted[order],
                }
                yield Block("statistics", moment.step, ids, columns)

        shifted = self._frozen.shifts(self._norms).to(before.device)
        read = torch.cat(
            [(between - before).float(), (after - between).float(), shifted]
        )
        return (Reading(read, finish),)


def _norms(model: torch.nn.Module) -> Norms:
    """List the batch norms of a model."""
    return [
        (clean_name(path), weakref.ref(module))
        for path, module in model.named_modules()
        if isinstance(module, BATCH_NORMS)
    ]


def _unsaved(model: torch.nn.Module, norms: Norms) -> set[str]:
    """Name the batch norms of a model with adapters that no adapter's copy is."""
    if not holders(model):
        return set()
    return {path for path, _ in norms if _COPY not in f".{path}."}


def _gathers(norm: Any) -> bool:
    """Tell whether a batch norm updates its statistics with a momentum."""
    if norm is None or not norm.training or not norm.momentum:
        return False
    return norm.num_batches_tracked is not None


def _read(norms: Norms) -> torch.Tensor:
    """Copy the counters, on the device of the first one."""
    counts = [
        module.num_batches_tracked.detach().clone()
        for _, reference in norms
        if isinstance(module := reference(), torch.nn.Module)
        and isinstance(module.num_batches_tracked, torch.Tensor)
    ]
    return torch.stack([count.to(counts[0].device) for count in counts])
