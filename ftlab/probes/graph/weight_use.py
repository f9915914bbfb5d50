"""Whether a module's output was computed with a weight whose own module was not called.

A product keeps the weight for its backward. So the graph right behind an output tells
which weights it was made with, without anything being computed.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from ftlab.probes.loss.loss_graph import is_plain

NODES = 64
"""Nodes of the graph that are looked at behind one output, the nearest first."""

_SAVED = "_saved_"


class WeightUse:
    """Looks for the weights of some modules behind the outputs of others.

    Parameters
    ----------
    suspects
        Modules that are never called, by the path of the module around that is.
    modules
        All modules, by path.
    """

    def __init__(
        self,
        suspects: Mapping[str, frozenset[str]],
        modules: Mapping[str, torch.nn.Module],
    ) -> None:
        self.used: set[str] = set()
        self._around = {
            around: {
                weight.untyped_storage().data_ptr(): path
                for path in paths
                for weight in modules[path].parameters()
                if type(weight.data) is torch.Tensor and not weight.is_meta
            }
            for around, paths in suspects.items()
        }

    def see(self, path: str, output: Any) -> None:
        """Look behind what a module has put out."""
        wanted = self._around.get(path)
        if wanted:
            found = set(_storages(output))
            self.used |= {owner for key, owner in wanted.items() if key in found}


def _storages(output: Any) -> Iterator[int]:
    """Yield where the tensors lie that the nearest nodes have kept for backward."""
    outputs = output if isinstance(output, tuple | list) else [output]
    nodes = [getattr(each, "grad_fn", None) for each in outputs]
    waiting, seen = deque(node for node in nodes if node is not None), 0
    while waiting and seen < NODES:
        node = waiting.popleft()
        seen += 1
        for name in dir(node):
            what = name.removeprefix(_SAVED)
            if name.startswith(_SAVED) and is_plain(node, what):
                kept = getattr(node, name)
                if isinstance(kept, torch.Tensor):
                    yield kept.untyped_storage().data_ptr()
        waiting.extend(before for before, _ in node.next_functions if before)
